// The skills of several servers as those of one. A server that stands alone answers for itself.
// https://modelcontextprotocol.io/seps/2640-skills-extension
import { isObject, keepLatest, McpxError } from '../base/index.ts'
import type { Clock, JsonObject, Log } from '../base/index.ts'
import { METHOD, SKILLS_EXTENSION } from '../spec/index.ts'
import type { Answer, Call } from '../wire/index.ts'
import { gather } from './gather.ts'
import { hintsOf } from './hints.ts'
import type { Hints } from './hints.ts'
import type { Member } from './member.ts'
import { pageOf } from './pages.ts'
import type { ResourceRoutes } from './resource-routes.ts'

export interface SkillsOptions {
  readonly members: readonly Member[]
  readonly patience: () => number
  readonly clock: Clock
  readonly log: Log
}

/** Folders of skills whose server is kept; the oldest goes first. */
const MAX_FOLDERS = 10_000
const MAX_PAGES = 100
const FILE = '/SKILL.md'

interface Listed {
  readonly skills: readonly JsonObject[]
  readonly hints: readonly Hints[]
}

export class Skills {
  readonly #options: SkillsOptions
  readonly #routes: ResourceRoutes
  readonly #folders = new Map<string, Member>()

  constructor(options: SkillsOptions, routes: ResourceRoutes) {
    this.#options = options
    this.#routes = routes
  }

  /** Answers `skills/list` with those of all servers that have some. */
  async list(call: Call): Promise<Answer> {
    const listed = await this.#listed(call)
    const { items, nextCursor } = pageOf(
      listed.flatMap(({ skills }) => skills),
      call.params?.['cursor'],
    )
    return {
      result: {
        ...{ resultType: 'complete', skills: items },
        ...(nextCursor !== undefined && { nextCursor }),
        ...hintsOf(listed.flatMap(({ hints }) => hints)),
      },
    }
  }

  /** Sends a request about a skill, or one of its files or folders, to the server that has it. Throws `RESOURCE_UNKNOWN`. */
  async about(call: Call): Promise<Answer> {
    const uri = call.params?.['uri']
    if (typeof uri !== 'string') throw new McpxError('RESOURCE_UNKNOWN', 'params.uri must be a string')
    const member = (await this.find(uri, call)) ?? (await this.#routes.find(uri, call.caller))
    return member.run(call, { method: call.method, params: call.params })
  }

  /** The server that has the skill which a URI belongs to, or undefined. */
  async find(uri: string, call: Call): Promise<Member | undefined> {
    const known = this.#known(uri)
    if (known !== undefined) return known
    await this.#listed(call)
    return this.#known(uri)
  }

  #known(uri: string): Member | undefined {
    for (const [folder, member] of this.#folders)
      if (uri === folder || uri.startsWith(`${folder}/`)) return member
    return undefined
  }

  async #listed(call: Call): Promise<readonly Listed[]> {
    const { members } = this.#options
    const told = await gather(members, (member) => walk(member, call), this.#options)
    for (const [member, { skills }] of told) for (const { uri } of skills) this.#learn(uri, member)
    return told.map(([, listed]) => listed)
  }

  #learn(uri: unknown, member: Member): void {
    if (typeof uri !== 'string' || !uri.endsWith(FILE)) return
    keepLatest(this.#folders, [uri.slice(0, -FILE.length), member], MAX_FOLDERS)
  }
}

/** All skills of a server; none where it has not declared the extension. Rejects with an McpxError. */
async function walk(member: Member, call: Call): Promise<Listed> {
  const { extensions } = (await member.describe(call.caller)).capabilities
  if (!isObject(extensions) || !isObject(extensions[SKILLS_EXTENSION])) return { skills: [], hints: [] }
  const skills: JsonObject[] = []
  const hints: Hints[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const answer = await member.run(call, { method: METHOD.skillsList, params })
    if ('error' in answer) break
    const { skills: some, nextCursor, ttlMs, cacheScope } = answer.result
    if (Array.isArray(some)) skills.push(...some.filter(isObject))
    hints.push({ ttlMs, cacheScope })
    if (typeof nextCursor !== 'string' || nextCursor === cursor) break
    cursor = nextCursor
  }
  return { skills, hints }
}
