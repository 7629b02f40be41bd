import type { Command } from 'commander'
import { McpxError } from '../../base/index.ts'
import { writeCorpus, refuseTaken } from '../corpus/folder.ts'
import type { Corpus } from '../corpus/folder.ts'
import { formatEnd } from '../corpus/exchange-file.ts'
import type { Exchange } from '../corpus/exchange-file.ts'
import { openProxy } from '../corpus/proxy.ts'
import { recordDrafts, serverInfoIn } from '../corpus/recorder.ts'
import { readRequests } from '../corpus/requests-file.ts'
import { parseSelector } from '../corpus/selector.ts'
import { standardSet, UNAUTHORISED } from '../corpus/standard-set.ts'
import { print, styled } from '../output.ts'
import { onStopSignal } from '../signals.ts'
import { collect, countOf, durationOf, headersOf, urlOf } from './corpus-options.ts'

interface RecordOptions {
  readonly out: string
  readonly requests?: string
  readonly proxy?: boolean
  readonly port?: string
  readonly header: readonly string[]
  readonly mask: readonly string[]
  readonly chunks: string
  readonly events?: string
  readonly quiet: string
  readonly timeout: string
}

/** Fields that no two runs have alike. */
const VOLATILE = ['header:date', 'header:mcp-session-id']

/** `mcpx record <url> --out <folder>`: whole HTTP exchanges of a server, for `mcpx replay` to compare with. */
export function addRecord(program: Command): void {
  program
    .command('record')
    .description('record whole HTTP exchanges of a server, byte for byte, into a folder that git can show')
    .argument('<url>', "the server's endpoint")
    .requiredOption('--out <folder>', 'where the corpus goes; must hold none yet')
    .option('--requests <file>', 'the requests, one JSON object a line, instead of the built-in set')
    .option('--proxy', 'record what clients send through a local proxy, until it is interrupted')
    .option('--port <port>', 'the port of the proxy; without it a free one')
    .option(
      '--header <name: value>',
      'sent with each request, its value not stored; may be repeated',
      collect,
      [],
    )
    .option('--mask <field>', 'a further field that is not compared; may be repeated', collect, [])
    .option('--chunks <exact|joined>', 'whether chunk framing is compared too', 'exact')
    .option('--events <count>', 'how many events of a stream by GET are recorded')
    .option('--quiet <duration>', 'how long an open stream must be silent to be taken as said', '1s')
    .option('--timeout <duration>', 'how long one exchange may take', '30s')
    .action(async (address: string, options: RecordOptions) => {
      const url = urlOf(address)
      const masks = options.mask.map((text) => parseSelector(text).text)
      const { chunks } = options
      if (chunks !== 'exact' && chunks !== 'joined') {
        throw new McpxError('USAGE', `--chunks is exact or joined, not ${chunks}.`)
      }
      refuseTaken(options.out)
      const exchanges = await (options.proxy === true ? throughProxy(url, options) : bySending(url, options))
      const volatile = [...new Set([...VOLATILE, ...masks])]
      const corpus: Corpus = { url: url.href, server: serverInfoIn(exchanges), chunks, volatile, exchanges }
      writeCorpus(options.out, corpus)
      print(
        `${exchanges.length} exchanges are in ${options.out}. Not compared by value: ${volatile.join(', ')}.`,
      )
      warn(exchanges)
    })
}

async function bySending(url: URL, options: RecordOptions): Promise<Exchange[]> {
  if (options.port !== undefined) throw new McpxError('USAGE', '--port goes with --proxy.')
  const headers = headersOf(options.header)
  const own = options.requests === undefined ? undefined : readRequests(options.requests)
  return recordDrafts(own ?? standardSet(headers.length > 0), {
    url,
    headers,
    events: options.events === undefined ? undefined : countOf('--events', options.events),
    quiet: durationOf('--quiet', options.quiet),
    timeout: durationOf('--timeout', options.timeout),
    lenient: own === undefined,
    plain: new Set(own === undefined ? [UNAUTHORISED] : []),
  })
}

async function throughProxy(url: URL, options: RecordOptions): Promise<Exchange[]> {
  if (options.requests !== undefined || options.header.length > 0) {
    throw new McpxError(
      'USAGE',
      'With --proxy, clients bring requests and headers: leave --requests and --header out.',
    )
  }
  const port = options.port === undefined ? 0 : Number(options.port)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new McpxError('USAGE', `--port ${options.port} is no port.`)
  }
  const stopped = new Promise<void>((resolve) => {
    const unheard = onStopSignal(() => {
      unheard()
      resolve()
    })
  })
  const proxy = await openProxy({
    url,
    port,
    quiet: durationOf('--quiet', options.quiet),
    onExchange: (label, end) =>
      print(
        `${label}: ${end === 'lost' ? 'left out, the client went away before the answer was whole' : formatEnd(end)}`,
      ),
  })
  print(`Recording. Point clients at ${proxy.url} instead of ${url.href}, and interrupt to finish.`)
  await stopped
  return proxy.stop()
}

function warn(exchanges: readonly Exchange[]): void {
  const late = exchanges.filter(({ end }) => end.kind === 'timeout').map(({ name }) => name)
  if (late.length === 0) return
  const text = `Not whole within the time limit, and recorded as far as they came: ${late.join(', ')}.`
  process.stderr.write(`${styled('yellow', text)}\n`)
}
