// What an import takes from the clients' files, under which names, and what it leaves and why.
import { asMcpxError, isObject } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { canonicalDefinition } from '../../config/index.ts'
import type { ServerDefinition } from '../../config/index.ts'
import type { HostClient, HostFile } from './clients.ts'
import { convert } from './convert.ts'
import { readJson, valueAt } from './json-text.ts'
import { isOwn } from './own-entry.ts'
import { readText } from './text-file.ts'
import { readToml } from './toml-text.ts'

export interface Source {
  readonly client: HostClient
  readonly file: HostFile
}

export interface SourceReport {
  readonly client: string
  readonly path: string
  readonly servers: number
  /** Why the file could not be read; null where it could. */
  readonly error: string | null
}

export interface ImportedServer {
  readonly client: string
  readonly path: string
  /** Its name there. */
  readonly name: string
  readonly status: 'taken' | 'present' | 'left-out'
  /** Its name in mcpx; null where it is left out. */
  readonly as: string | null
  readonly reason: string | null
  readonly notes: readonly string[]
}

export interface ImportPlan {
  readonly sources: readonly SourceReport[]
  readonly servers: readonly ImportedServer[]
  readonly taken: ReadonlyMap<string, JsonObject>
}

/** Plans an import into a configuration that has these servers. Files that do not exist are passed over. */
export function planImport(
  sources: readonly Source[],
  existing: ReadonlyMap<string, ServerDefinition>,
  { force }: { readonly force: boolean },
): ImportPlan {
  const reports: SourceReport[] = []
  const servers: ImportedServer[] = []
  const taken = new Map<string, JsonObject>()
  const names = { existing, fresh: new Map<string, ServerDefinition>(), force }
  for (const source of sources) {
    const { client, file } = source
    const read = readSource(source)
    if (read === undefined) continue
    const count = Object.keys(read.servers).length
    reports.push({ client: client.id, path: file.path, servers: count, error: read.error })
    for (const [name, given] of Object.entries(read.servers)) {
      const at = { client: client.id, path: file.path, name }
      const leave = (reason: string) =>
        servers.push({ ...at, status: 'left-out', as: null, reason, notes: [] })
      if (isOwn(name, given)) {
        leave("it is mcpx's own entry")
        continue
      }
      const off = read.off.includes(name)
      const made = off
        ? { reason: `it is disabled in ${client.title}` }
        : convert(name, given, { ...source, ...read })
      if ('reason' in made) {
        leave(made.reason)
        continue
      }
      const settled = settle(made.definition, client.id, names)
      if (settled.status === 'left-out') {
        leave(settled.reason)
        continue
      }
      const { status, as } = settled
      const renamed = as === name ? [] : [`another server is called ${name} already, so this one is ${as}`]
      servers.push({ ...at, status, as, reason: null, notes: [...renamed, ...made.notes] })
      if (status === 'present') continue
      taken.set(as, made.entry)
      names.fresh.set(as, made.definition)
    }
  }
  return { sources: reports, servers, taken }
}

interface Names {
  readonly existing: ReadonlyMap<string, ServerDefinition>
  readonly fresh: Map<string, ServerDefinition>
  readonly force: boolean
}

type Settled =
  | { readonly status: 'taken' | 'present'; readonly as: string }
  | { readonly status: 'left-out'; readonly reason: string }

/** The same server under its name, or under that and the client's, is there already; of two imported ones both stay. */
function settle(definition: ServerDefinition, client: string, { existing, fresh, force }: Names): Settled {
  const { name } = definition
  const longer = `${name}-${client}`
  const same = (as: string) => {
    const there = fresh.get(as) ?? existing.get(as)
    return there !== undefined && canonicalDefinition(there) === canonicalDefinition(definition)
  }
  const present = [name, longer].find(same)
  if (present !== undefined) return { status: 'present', as: present }
  const as = fresh.has(name) ? longer : name
  if (fresh.has(as)) return { status: 'left-out', reason: `${as} is imported already, and is another server` }
  if (!existing.has(as) || force) return { status: 'taken', as }
  return { status: 'left-out', reason: `mcpx has another server called ${as}: --force replaces it` }
}

interface Read {
  readonly servers: JsonObject
  readonly off: readonly unknown[]
  readonly inputs: readonly JsonObject[]
  readonly error: string | null
}

/** Undefined where there is no such file, or nothing of servers in it. */
function readSource({ client, file }: Source): Read | undefined {
  const nothing = { servers: {}, off: [], inputs: [] }
  try {
    const text = readText(file.path)?.text
    if (text === undefined) return undefined
    const whole: unknown = client.format === 'toml' ? readToml(text, file.path) : readJson(text, file.path)
    const servers = valueAt(whole, file.keys)
    if (servers === undefined) return undefined
    if (!isObject(servers)) return { ...nothing, error: `${file.path}: ${file.keys.join('.')} is no object` }
    const off = file.off === undefined ? [] : valueAt(whole, file.off)
    const inputs = valueAt(whole, [...file.keys.slice(0, -1), 'inputs'])
    return {
      servers,
      off: Array.isArray(off) ? off : [],
      inputs: Array.isArray(inputs) ? inputs.filter(isObject) : [],
      error: null,
    }
  } catch (error) {
    return { ...nothing, error: asMcpxError(error).message }
  }
}
