// Sends the requests of a corpus again, in the order and with the overlaps in which they were recorded.
import { asMcpxError, McpxError } from '../../base/index.ts'
import { compare } from './compare.ts'
import type { Heard } from './compare.ts'
import type { Difference } from './difference.ts'
import { converse } from './conversation.ts'
import type { Conversation, Stop } from './conversation.ts'
import { headerReference } from './draft.ts'
import { eventsIn } from './event-reader.ts'
import type { Exchange } from './exchange-file.ts'
import type { Corpus } from './folder.ts'
import { readResponse } from './response.ts'
import { parseSelector, valueOf } from './selector.ts'
import type { Selector } from './selector.ts'
import { fill, referencesIn, verbOf } from './template.ts'

export interface Replay {
  readonly url: URL
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly masks: readonly string[]
  /** For each exchange, in ms. */
  readonly timeout: number
}

export interface Replayed {
  readonly exchange: Exchange
  /** Undefined where the request could not be made. */
  readonly heard: Heard | undefined
  readonly differences: readonly Difference[]
}

export interface ReplayReport {
  readonly exchanges: readonly Replayed[]
  /** The masks, and in how many exchanges each one hid a value that differs. */
  readonly masked: Readonly<Record<string, number>>
}

/** Throws USAGE for a header that the corpus needs and does not get, and UPSTREAM_UNREACHABLE. */
export async function replayCorpus(corpus: Corpus, replay: Replay): Promise<ReplayReport> {
  checkHeaders(corpus, replay)
  const masks = replay.masks.map(parseSelector)
  const answers = await hearAll(corpus.exchanges, replay)
  const masked: Record<string, number> = Object.fromEntries(masks.map(({ text }) => [text, 0]))
  const addresses = { expected: new URL(corpus.url).host, got: replay.url.host }
  const exchanges = corpus.exchanges.map((exchange, index): Replayed => {
    const answer = answers[index]
    if (answer === undefined || 'missing' in answer) {
      const got = `not sent: no response gave {{${answer?.missing ?? ''}}}`
      return { exchange, heard: undefined, differences: [{ at: 'request', expected: 'sent', got }] }
    }
    const hidden = (selector: Selector): void => {
      masked[selector.text] = (masked[selector.text] ?? 0) + 1
    }
    const how = { verb: verbOf(exchange.request), masks, chunks: corpus.chunks, addresses, hidden }
    const expected = { bytes: exchange.response, end: exchange.end }
    return { exchange, heard: answer, differences: compare(expected, answer, how) }
  })
  return { exchanges, masked }
}

type Missing = { readonly missing: string }

async function hearAll(
  exchanges: readonly Exchange[],
  replay: Replay,
): Promise<readonly (Heard | Missing)[]> {
  const given = new Map([
    ['host', replay.url.host],
    ['path', replay.url.pathname + replay.url.search],
    ...replay.headers.map(([name, value]) => [headerReference(name), value] as const),
  ])
  const names = exchanges.map(({ name }) => name)
  const open = new Map<string, Conversation>()
  const ready = Promise.resolve()

  const begun = exchanges.map(async (exchange, index): Promise<Conversation | Missing> => {
    // The first of them refers to those after it.
    await ready
    for (const [earlier, name] of names.slice(0, index).entries()) {
      const overlap = exchange.overlaps.find((one) => one.name === name)
      if (overlap === undefined) await ended[earlier]
      else {
        await begun[earlier]
        await open.get(name)?.reached(overlap.passed)
      }
    }
    const filled = fill(exchange.request, (name) => given.get(name) ?? capturedValue(name, index))
    if ('missing' in filled) return filled
    const verb = verbOf(exchange.request)
    const stop = stopFor(index, verb)
    const timeout = exchange.end.kind === 'timeout' ? exchange.end.ms : replay.timeout
    const conversation = converse({ url: replay.url, verb, bytes: filled.bytes, stop, timeout })
    open.set(exchange.name, conversation)
    return conversation
  })
  const ended = begun.map(async (beginning, index): Promise<Heard | Missing> => {
    const conversation = await beginning
    if ('missing' in conversation) return conversation
    return conversation.ended.catch((error: unknown) => {
      const { code, message } = asMcpxError(error)
      throw new McpxError(code, `${names[index]}: ${message}`, { cause: error })
    })
  })

  /** Undefined for what is no name of a value, null for a value that was not given. */
  function capturedValue(name: string, index: number): string | undefined | null {
    const giver = exchanges
      .slice(0, index)
      .findLast(({ captures }) => captures.some((one) => one.name === name))
    const capture = giver?.captures.find((one) => one.name === name)
    if (giver === undefined || capture === undefined) return undefined
    const heard = open.get(giver.name)?.heard() ?? Buffer.alloc(0)
    return valueOf(parseSelector(capture.selector), readResponse(heard, verbOf(giver.request))) ?? null
  }

  function stopFor(index: number, verb: string): Stop {
    const exchange = exchanges[index]
    if (exchange?.end.kind === 'events') return { events: exchange.end.count }
    if (exchange?.end.kind !== 'quiet') return {}
    const within = ended.filter((_, later) =>
      exchanges[later]?.overlaps.some(({ name }) => name === exchange.name),
    )
    const leastEvents = eventsIn(readResponse(exchange.response, verb).body).length
    const after = within.length === 0 ? {} : { after: Promise.allSettled(within) }
    return { quiet: exchange.end.ms, leastEvents, ...after }
  }

  try {
    return await Promise.all(ended)
  } finally {
    for (const conversation of open.values()) conversation.close()
  }
}

/** The headers that a corpus was recorded with have their values on the command line only. */
function checkHeaders(corpus: Corpus, { headers }: Replay): void {
  const texts = corpus.exchanges.flatMap(({ request }) =>
    request.flatMap((segment) => ('text' in segment ? referencesIn(segment.text) : [])),
  )
  const needed = new Set(texts.filter((name) => name.startsWith(headerReference(''))))
  const given = new Map(headers.map(([name]) => [headerReference(name), name]))
  const missing = [...needed].find((name) => !given.has(name))
  if (missing !== undefined) {
    const name = missing.slice(headerReference('').length)
    throw new McpxError(
      'USAGE',
      `The corpus was recorded with a header "${name}": give it with --header "${name}: …".`,
    )
  }
  const unused = [...given].find(([name]) => !needed.has(name))
  if (unused !== undefined) {
    throw new McpxError(
      'USAGE',
      `The corpus was recorded without a header "${unused[1]}": no request has a place for it.`,
    )
  }
}
