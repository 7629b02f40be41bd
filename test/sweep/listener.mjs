// Loaded into every Node process of a test run, before its program: writes down all that mcpx's own processes say where people and
// programs hear it, on stdout, stderr and in answers over HTTP, so that it can be searched for secrets at the end of the run.
import fs from 'node:fs'
import { ServerResponse } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

const FOLDER = process.env['MCPX_SAID_DIR']
const IS_MCPX = /[\\/]dist[\\/]cli[\\/]main\.js$/.test(process.argv[1] ?? '')
/** What is longer is the result of a tool, in bytes. */
const LONGEST = 256 * 1024
/** stdout and stderr. */
const HEARD = new Set([1, 2])

if (FOLDER !== undefined && IS_MCPX) install(FOLDER)

/** @param {string} folder */
function install(folder) {
  const { writeSync, openSync } = fs
  /** @type {number | undefined} */
  let file
  /** @param {unknown} chunk */
  const note = (chunk) => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return
    if (chunk.length === 0 || chunk.length > LONGEST) return
    try {
      file ??= openSync(join(folder, `${process.pid}-${Date.now()}.txt`), 'a')
      writeSync(file, Buffer.from(chunk))
    } catch {
      // Where a test lets no file grow, what is said is not kept.
    }
  }
  /** Notes what is given to a function. @type {(target: any, name: string, said?: (given: unknown[]) => unknown) => void} */
  const tap = (target, name, said = ([first]) => first) => {
    const own = Object.hasOwn(target, name) ? target[name] : undefined
    target[name] = function (/** @type {unknown[]} */ ...given) {
      note(said(given))
      // What is inherited may be wrapped later.
      return (own ?? Object.getPrototypeOf(target)[name]).apply(this, given)
    }
  }
  // Logs are written to the descriptor itself.
  for (const name of ['write', 'writeSync'])
    tap(fs, name, ([descriptor, chunk]) => HEARD.has(Number(descriptor)) && chunk)
  syncBuiltinESMExports()
  for (const name of ['write', 'end']) tap(ServerResponse.prototype, name)
  tap(ServerResponse.prototype, 'setHeader', ([, value]) => value)
  for (const stream of [process.stdout, process.stderr]) tap(stream, 'write')
}
