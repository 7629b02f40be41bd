// Which server a public name belongs to, and what that server calls it.
import type { JsonObject } from '../base/index.ts'
import type { Call } from '../wire/index.ts'
import type { ListKind } from './lists.ts'
import type { Asking, Member } from './member.ts'
import { afterPrefix, mayBeShortened } from './names.ts'
import type { Naming } from './names.ts'
import { unknown } from './unknown.ts'
import type { NamedList } from './unknown.ts'

export interface NameRoutesOptions {
  readonly members: readonly Member[]
  readonly naming: Naming
  /** How long a list waits for servers that are slow to start, in ms. */
  readonly patience: () => number
}

/** Which server a public name belongs to, and what that server calls it. */
interface Route {
  readonly member: Member
  readonly native: string
}

export class NameRoutes {
  readonly #options: NameRoutesOptions

  constructor(options: NameRoutesOptions) {
    this.#options = options
  }

  get #single(): Member | undefined {
    const [only, ...others] = this.#options.members
    return others.length === 0 ? only : undefined
  }

  /** Rejects with the McpxError for a name that leads nowhere. */
  async find(kind: NamedList, call: Pick<Call, 'params' | 'caller'>): Promise<Route> {
    const name = call.params?.['name']
    if (typeof name !== 'string') throw unknown(kind, name, [])
    if (this.#single !== undefined) return { member: this.#single, native: name }
    const { caller } = call
    const marked = this.#options.naming === 'prefix' ? byPrefix(this.#options.members, name) : undefined
    if (marked !== undefined) {
      const listed = marked.member.lists(caller).known(kind)?.byKey.has(marked.native) === true
      if (listed || !mayBeShortened(name)) return marked
    }
    const { found, known } = await this.#lookUp(kind, name, caller)
    const route = found ?? marked
    if (route === undefined) throw unknown(kind, name, known)
    return route
  }

  /** Names that were shortened, or that no prefix marks, are found in the lists. `known` has all names that are in them. */
  async #lookUp(
    kind: NamedList,
    name: string,
    caller: Asking,
  ): Promise<{ found: Route | undefined; known: readonly string[] }> {
    const patience = this.#options.patience()
    const lists = await Promise.all(
      this.#options.members.map(async (member) => {
        const { list } = await member.lists(caller).within(kind, patience)
        return [...(list?.byKey.keys() ?? [])].map((native) => ({ member, native }))
      }),
    )
    const routes = lists.flat()
    return {
      found: routes.find(({ member, native }) => this.#shown(member, native) === name),
      known: routes.map(({ member, native }) => this.#shown(member, native)),
    }
  }

  #shown(member: Member, native: string): string {
    return this.#single !== undefined || this.#options.naming === 'none' ? native : member.publicName(native)
  }

  /** The items of a list as they are known in public. */
  publish(member: Member, kind: ListKind, items: readonly JsonObject[]): readonly JsonObject[] {
    const offered = kind === 'tools' ? items.filter((tool) => member.allows(String(tool['name']))) : items
    if (this.#single !== undefined || this.#options.naming === 'none' || kind.startsWith('resource'))
      return offered
    return offered.map((item) => ({ ...item, name: member.publicName(String(item['name'])) }))
  }
}

/** What a prefix says. A prefix may itself hold the separator, so the longest one that fits is the one that was meant. */
function byPrefix(members: readonly Member[], name: string): Route | undefined {
  const routes = members.flatMap((member) => {
    const native = afterPrefix(member.prefix, name)
    return native !== undefined && member.publicName(native) === name ? [{ member, native }] : []
  })
  return routes.sort((a, b) => b.member.prefix.length - a.member.prefix.length)[0]
}
