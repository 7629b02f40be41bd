// Which server a resource URI belongs to. URIs are never rewritten, so this is learned: from lists, from templates, and from
// the results that name them.
import { clip, isObject, keepLatest, McpxError } from '../base/index.ts'
import type { Log } from '../base/index.ts'
import type { Answer } from '../wire/index.ts'
import type { Asking, Member } from './member.ts'
import { templateMatcher } from './uri-template.ts'

/** URIs that results named and that are kept; the oldest goes first. */
const MAX_LEARNED = 10_000
const PATIENCE = 2000

export class ResourceRoutes {
  readonly #members: readonly Member[]
  readonly #log: Log
  readonly #learned = new Map<string, Member>()
  readonly #matchers = new Map<string, (uri: string) => boolean>()

  constructor(members: readonly Member[], log: Log) {
    this.#members = members
    this.#log = log
  }

  /** The server of a URI: who listed it, who named it in a result, or whose template fits. Throws `RESOURCE_UNKNOWN`. */
  async find(uri: string, caller: Asking): Promise<Member> {
    const listed = await this.#first(caller, 'resources', (list) => list.has(uri))
    if (listed !== undefined) return listed
    const learned = this.#learned.get(uri)
    if (learned !== undefined) return learned
    const fits = await this.#first(caller, 'resourceTemplates', (list) =>
      [...list.keys()].some((template) => this.#matches(template, uri)),
    )
    if (fits !== undefined) return fits
    throw new McpxError(
      'RESOURCE_UNKNOWN',
      `Resource not found: ${clip(uri, 200)}. No server lists it or has a template that fits.`,
      {
        data: { uri },
      },
    )
  }

  /** Remembers the URIs that a server's result names, so that a caller can read them. */
  learn(member: Member, answer: Answer): void {
    if (!('result' in answer)) return
    for (const block of [answer.result['content'], answer.result['contents']].flat()) {
      if (!isObject(block)) continue
      const uri = block['uri'] ?? (isObject(block['resource']) ? block['resource']['uri'] : undefined)
      if (typeof uri === 'string') this.#keep(uri, member)
    }
  }

  async #first(
    caller: Asking,
    kind: 'resources' | 'resourceTemplates',
    fits: (list: ReadonlyMap<string, unknown>) => boolean,
  ): Promise<Member | undefined> {
    for (const member of this.#members) {
      const lists = member.lists(caller)
      const list = lists.known(kind) ?? (await lists.within(kind, PATIENCE)).list
      if (list !== undefined && fits(list.byKey)) return member
    }
    return undefined
  }

  #matches(template: string, uri: string): boolean {
    let matcher = this.#matchers.get(template)
    if (matcher === undefined) {
      matcher = templateMatcher(template)
      this.#matchers.set(template, matcher)
    }
    return matcher(uri)
  }

  #keep(uri: string, member: Member): void {
    const before = this.#learned.get(uri)
    if (before !== undefined && before !== member) {
      this.#log.warn('two servers name one resource; the later one is read', {
        uri: clip(uri),
        servers: [before.name, member.name],
      })
    }
    keepLatest(this.#learned, [uri, member], MAX_LEARNED)
  }
}
