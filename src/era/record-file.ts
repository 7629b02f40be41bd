// Era records as the text of a file: written with a version, read without trust.
import { isObject } from '../base/index.ts'
import { isRevisionId } from '../spec/index.ts'
import type { TransportKind } from '../wire/index.ts'
import type { EraRecord } from './record.ts'

const VERSION = 1
/** Records that no start used for so long are dropped, in ms. */
const MAX_UNUSED = 30 * 24 * 60 * 60 * 1000

const ERAS = ['legacy', 'modern'] as const
const TRANSPORTS = ['stdio', 'streamable-http', 'http+sse'] as const satisfies readonly TransportKind[]
const SOURCES = ['probe', 'raced', 'closed'] as const
const QUESTIONS = ['discover', 'initialize'] as const

/** The records in a file's text. Whatever is no file of this version holds none; a record that cannot be read is left out. */
export function parseRecords(text: string | undefined): Map<string, EraRecord> {
  const records = new Map<string, EraRecord>()
  const file = text === undefined ? undefined : parse(text)
  if (!isObject(file) || file['version'] !== VERSION || !isObject(file['records'])) return records
  for (const [digest, value] of Object.entries(file['records'])) {
    const record = recordFrom(value)
    if (record !== undefined) records.set(digest, record)
  }
  return records
}

/** The text of a file with these records, without those that were unused for 30 days before `now`. */
export function formatRecords(records: ReadonlyMap<string, EraRecord>, now: number): string {
  const kept = [...records].filter(([, record]) => now - record.usedAt < MAX_UNUSED)
  return `${JSON.stringify({ version: VERSION, records: Object.fromEntries(kept) }, null, 2)}\n`
}

function recordFrom(value: unknown): EraRecord | undefined {
  if (!isObject(value)) return undefined
  const { revision, at, usedAt, doubted, asks } = value
  const era = oneOf(ERAS, value['era'])
  const transport = oneOf(TRANSPORTS, value['transport'])
  const source = oneOf(SOURCES, value['source'])
  const first = oneOf(QUESTIONS, value['first'])
  const server = isObject(value['server']) ? value['server'] : {}
  if (era === undefined || transport === undefined || source === undefined || first === undefined)
    return undefined
  if (typeof revision !== 'string' || !isRevisionId(revision)) return undefined
  if (typeof at !== 'number' || typeof usedAt !== 'number') return undefined
  return {
    ...{ era, revision, transport, source, first, at, usedAt },
    server: { name: textOf(server['name']), version: textOf(server['version']) },
    ...(Array.isArray(asks) ? { asks: asks.filter((subject) => typeof subject === 'string') } : {}),
    ...(doubted === true ? { doubted } : {}),
  }
}

function oneOf<T extends string>(allowed: readonly T[], value: unknown): T | undefined {
  return allowed.find((candidate) => candidate === value)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
