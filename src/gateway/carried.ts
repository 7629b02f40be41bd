import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { MERGED_EXTENSIONS } from '../spec/index.ts'
import { carriedExtensions } from '../wire/index.ts'
import { SUBSCRIBABLE } from './changes.ts'

/** The capabilities that mcpx carries across, by what an upstream declares. */
const CARRIED = ['tools', 'prompts', 'resources', 'completions', 'logging'] as const

/**
 * What a server may turn out to have that has not answered yet: a client that is told of nothing never asks for it, and a
 * legacy one is told once.
 */
export const ASSUMED: JsonObject = { tools: {}, prompts: {}, resources: {}, logging: {} }

/**
 * What an upstream declares, as far as mcpx carries it. It tells itself when what a server offers turns out to be other. An
 * extension whose methods mcpx does not know leads nowhere among several servers; one that stands alone gets them all.
 */
export function carry(declared: JsonObject, into: JsonObject, among: 'several' | 'alone'): void {
  for (const name of CARRIED) {
    const own = declared[name]
    if (own === undefined) continue
    const subscribe = isObject(own) && own['subscribe'] === true ? { subscribe: true } : {}
    const changes = name in SUBSCRIBABLE ? { listChanged: true } : {}
    into[name] = { ...(into[name] as JsonObject | undefined), ...changes, ...subscribe }
  }
  const { extensions = {} } = carriedExtensions(
    isObject(declared['extensions']) ? declared['extensions'] : {},
  )
  for (const [name, settings] of Object.entries(extensions)) {
    if (among === 'several' && !MERGED_EXTENSIONS.has(name)) continue
    const merged = into['extensions'] as JsonObject | undefined
    into['extensions'] = { ...merged, [name]: { ...(merged?.[name] as object), ...(settings as object) } }
  }
}
