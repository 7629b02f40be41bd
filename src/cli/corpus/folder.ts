// A corpus on disk: an index, and one file for each exchange.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import type { Chunking } from './compare.ts'
import { formatExchange, parseExchange } from './exchange-file.ts'
import type { Exchange } from './exchange-file.ts'

export interface Corpus {
  /** The address of the server that was recorded. */
  readonly url: string
  /** What it called itself. */
  readonly server: JsonObject | undefined
  readonly chunks: Chunking
  /** Selectors of fields whose values are not compared. */
  readonly volatile: readonly string[]
  /** In the order in which their requests were sent. */
  readonly exchanges: readonly Exchange[]
}

const INDEX = 'index.json'
/** Line ends of the files may change, trailing spaces may not: an event's line often has one. */
const ATTRIBUTES = '*.http -text whitespace=-blank-at-eol\n'

/** Throws USAGE where the folder holds a corpus already: nothing that was recorded is written over. */
export function refuseTaken(folder: string): void {
  if (!existsSync(join(folder, INDEX))) return
  throw new McpxError(
    'USAGE',
    `${folder} holds a corpus already. Name another folder with --out, or rewrite it with mcpx replay --update.`,
  )
}

export function writeCorpus(folder: string, corpus: Corpus): void {
  mkdirSync(folder, { recursive: true })
  const { exchanges, server = null, ...rest } = corpus
  for (const exchange of exchanges) writeExchange(folder, exchange)
  const index = { format: 1, ...rest, server, exchanges: exchanges.map(({ name }) => `${name}.http`) }
  writeFileSync(join(folder, '.gitattributes'), ATTRIBUTES)
  // The index comes last: a folder with one is whole.
  writeFileSync(join(folder, INDEX), `${JSON.stringify(index, null, 2)}\n`)
}

function writeExchange(folder: string, exchange: Exchange): void {
  writeFileSync(join(folder, `${exchange.name}.http`), formatExchange(exchange))
}

/** Throws CORPUS_NOT_FOUND and CORPUS_INVALID. */
export function readCorpus(folder: string): Corpus {
  const index = parseIndex(folder, read(folder, INDEX))
  const exchanges: Exchange[] = []
  for (const file of index.exchanges) {
    const exchange = parseExchange(file.replace(/\.http$/, ''), read(folder, file))
    for (const { name } of exchange.overlaps) {
      if (!exchanges.some((earlier) => earlier.name === name)) {
        throw new McpxError('CORPUS_INVALID', `${file} was sent while ${name}, which is no earlier exchange.`)
      }
    }
    exchanges.push(exchange)
  }
  return { ...index, exchanges }
}

function read(folder: string, file: string): string {
  try {
    return readFileSync(join(folder, file), 'utf8')
  } catch (cause) {
    const text =
      file === INDEX
        ? `${folder} holds no corpus: it has no ${INDEX} that can be read. mcpx record makes one.`
        : `The index of ${folder} names ${file}, which cannot be read.`
    throw new McpxError('CORPUS_NOT_FOUND', text, { cause })
  }
}

function parseIndex(
  folder: string,
  text: string,
): Omit<Corpus, 'exchanges'> & { exchanges: readonly string[] } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (isObject(value) && value['format'] === 1) {
    const { url, server, chunks, volatile, exchanges } = value
    const isPlace = (file: string): boolean => /^[\w.-]+\.http$/.test(file)
    if (
      typeof url === 'string' &&
      URL.canParse(url) &&
      (chunks === 'exact' || chunks === 'joined') &&
      isTexts(volatile) &&
      isTexts(exchanges) &&
      exchanges.every(isPlace)
    ) {
      return { url, server: isObject(server) ? server : undefined, chunks, volatile, exchanges }
    }
  }
  throw new McpxError(
    'CORPUS_INVALID',
    `${join(folder, INDEX)} is no index of a corpus in format 1: it needs url, chunks, volatile and exchanges.`,
  )
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
