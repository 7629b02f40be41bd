import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { SUBSCRIBABLE } from './changes.ts'

/** The capabilities that mcpx carries across, by what an upstream declares. */
const CARRIED = ['tools', 'prompts', 'resources', 'completions', 'logging'] as const

/** What an upstream declares, as far as mcpx carries it. It tells itself when what a server offers turns out to be other. */
export function carry(declared: JsonObject, into: JsonObject): void {
  for (const name of CARRIED) {
    const own = declared[name]
    if (own === undefined) continue
    const subscribe = isObject(own) && own['subscribe'] === true ? { subscribe: true } : {}
    const changes = name in SUBSCRIBABLE ? { listChanged: true } : {}
    into[name] = { ...(into[name] as JsonObject | undefined), ...changes, ...subscribe }
  }
}
