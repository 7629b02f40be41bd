import type { Command } from 'commander'
import { clip } from '../../base/index.ts'
import type { Difference } from '../corpus/difference.ts'
import { readCorpus, writeCorpus } from '../corpus/folder.ts'
import type { Corpus } from '../corpus/folder.ts'
import { replayCorpus } from '../corpus/replayer.ts'
import type { ReplayReport } from '../corpus/replayer.ts'
import { print, printJson, styled } from '../output.ts'
import { parseSelector } from '../corpus/selector.ts'
import { collect, durationOf, headersOf, urlOf } from './corpus-options.ts'

interface ReplayOptions {
  readonly header: readonly string[]
  readonly mask: readonly string[]
  readonly unmasked?: boolean
  readonly timeout: string
  readonly json?: boolean
  readonly update?: boolean
}

/** `mcpx replay <url> <folder>`: the same requests again; exit code 1 where an answer differs by a byte. */
export function addReplay(program: Command): void {
  program
    .command('replay')
    .description('send the requests of a corpus again; the exit code is 1 when any answer differs by a byte')
    .argument('<url>', "the server's endpoint")
    .argument('<corpus>', 'the folder that mcpx record made')
    .option('--header <name: value>', 'the value of a header that the corpus was recorded with', collect, [])
    .option(
      '--mask <field>',
      'a field that is not compared, besides those of the corpus; may be repeated',
      collect,
      [],
    )
    .option('--unmasked', 'compare the fields too that the corpus lists as volatile')
    .option('--timeout <duration>', 'how long one exchange may take', '30s')
    .option('--update', 'write what the server answers now into the corpus, where it differs')
    .option('--json', 'print JSON')
    .action(async (address: string, folder: string, options: ReplayOptions) => {
      const corpus = readCorpus(folder)
      const given = options.mask.map((text) => parseSelector(text).text)
      const masks = [...new Set([...(options.unmasked === true ? [] : corpus.volatile), ...given])]
      const report = await replayCorpus(corpus, {
        url: urlOf(address),
        headers: headersOf(options.header),
        masks,
        timeout: durationOf('--timeout', options.timeout),
      })
      if (options.json === true) printJson(reportOf(report))
      else explain(report)
      if (options.update === true) update(folder, corpus, { report, given })
      else process.exitCode = driftIn(report).length === 0 ? 0 : 1
    })
}

function driftIn(report: ReplayReport): ReplayReport['exchanges'] {
  return report.exchanges.filter(({ differences }) => differences.length > 0)
}

function reportOf(report: ReplayReport): unknown {
  const drift = driftIn(report)
  return {
    exchanges: report.exchanges.length,
    same: report.exchanges.length - drift.length,
    masked: report.masked,
    drift: drift.map(({ exchange, differences }) => ({ exchange: exchange.name, differences })),
  }
}

function explain(report: ReplayReport): void {
  const drift = driftIn(report)
  for (const { exchange, differences } of drift) {
    print(styled('bold', exchange.name))
    for (const difference of differences) print(describe(difference))
  }
  const count = report.exchanges.length
  const text =
    drift.length === 0
      ? `All ${count} exchanges are the same.`
      : `${drift.length} of ${count} exchanges differ.`
  print(styled(drift.length === 0 ? 'green' : 'red', text))
  const hidden = Object.entries(report.masked).filter(([, times]) => times > 0)
  if (hidden.length > 0) print(`Masked: ${hidden.map(([name, times]) => `${name} in ${times}`).join(', ')}.`)
}

function describe({ at, byte, expected, got }: Difference): string {
  const side = (mark: string, text: string | null): string =>
    text === null ? `    ${mark} (nothing)` : `    ${mark} ${clip(shown(text), 300)}`
  const place = byte === undefined ? at : `${at}, byte ${byte}`
  return [`  ${place}`, styled('red', side('-', expected)), styled('green', side('+', got))].join('\n')
}

/** On one line, with what cannot be seen as escapes. */
function shown(text: string): string {
  const escape = (character: string): string => JSON.stringify(character).slice(1, -1)
  return text.replace(/\r?\n$/, '').replace(/\p{Cc}/gu, escape)
}

function update(
  folder: string,
  corpus: Corpus,
  { report, given }: { report: ReplayReport; given: readonly string[] },
): void {
  const exchanges = report.exchanges.map(({ exchange, heard, differences }) =>
    heard === undefined || differences.length === 0
      ? exchange
      : { ...exchange, response: heard.bytes, end: heard.end },
  )
  writeCorpus(folder, { ...corpus, exchanges, volatile: [...new Set([...corpus.volatile, ...given])] })
}
