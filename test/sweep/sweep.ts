// The schema sweep of a test run: every process records, and what mcpx sent is held against the official schemas at the end.
import { createReadStream } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { WITHOUT_SCHEMAS } from '../spec/published.ts'
import { createReader } from './frames.ts'
import type { Frame, Recorded } from './frames.ts'
import { Judge } from './judge.ts'
import type { Offence } from './judge.ts'
import { listenForSecrets } from './secrets.ts'

const RECORDER = pathToFileURL(join(import.meta.dirname, 'recorder.mjs')).href

/** Runs around all test files; its answer ends the run. */
export async function setup(): Promise<() => Promise<void>> {
  const ends = [await listenForSecrets(), await recordFrames()]
  return async () => {
    const ended = await Promise.allSettled(ends.map((end) => end()))
    const faults = ended.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).message] : []))
    if (faults.length > 0) throw new Error(faults.join('\n\n'))
  }
}

/** A folder in `MCPX_SWEEP_DIR` is used and kept. */
async function recordFrames(): Promise<() => Promise<void>> {
  if (WITHOUT_SCHEMAS !== undefined) {
    console.log(`schema sweep: skipped, ${WITHOUT_SCHEMAS}`)
    return async () => {}
  }
  const given = process.env['MCPX_SWEEP_DIR']
  const folder = given ?? (await mkdtemp(join(tmpdir(), 'mcpx-sweep-')))
  process.env['MCPX_SWEEP_DIR'] = folder
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --import=${RECORDER}`.trim()
  return async () => {
    const judge = await judged(folder)
    const offences = judge.offences()
    if (given === undefined) await rm(folder, { recursive: true, force: true })
    const total = `${judge.frames} frames of ${judge.counts.size} test files`
    if (offences.length === 0) return console.log(`schema sweep: ${total}, each as its revision has it`)
    throw new Error(
      `schema sweep: ${offences.length} faults in ${total}\n\n${offences.map(told).join('\n\n')}`,
    )
  }
}

/** Reads what was recorded into a folder. */
export async function judged(folder: string, see: (frame: Frame) => void = () => {}): Promise<Judge> {
  const judge = new Judge()
  for (const name of await readdir(folder)) {
    const read = createReader((frame) => {
      judge.take(frame)
      see(frame)
    })
    for await (const line of createInterface({ input: createReadStream(join(folder, name)) })) {
      // A process that is killed may leave half a line.
      if (line.endsWith('}')) read(JSON.parse(line) as Recorded)
    }
  }
  return judge
}

function told({ test, sentBy, method, revision, fault, example, count }: Offence): string {
  const times = count === 1 ? '' : ` (${count} frames)`
  return `${test}\n  as ${sentBy}, ${method}, ${revision}${times}\n  ${fault}\n  ${example}`
}
