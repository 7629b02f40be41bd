// The floor of a proxy before a stdio server: HTTP in, a line out with an id of its own, and the answer back. Nothing else.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { bodyOf, listen, option, reply } from './frames.mjs'

const child = spawn(process.execPath, [option('program')], { stdio: ['pipe', 'pipe', 'inherit'] })
process.on('SIGTERM', () => child.kill())
child.on('exit', () => process.exit())

/** @type {Map<number, (answer: any) => void>} */
const waiting = new Map()
let lastId = 0
createInterface({ input: child.stdout }).on('line', (line) => {
  const answer = JSON.parse(line)
  waiting.get(answer.id)?.(answer)
  waiting.delete(answer.id)
})

listen(async (request, response) => {
  const message = JSON.parse(await bodyOf(request))
  const id = ++lastId
  const answered = new Promise((resolve) => waiting.set(id, resolve))
  child.stdin.write(`${JSON.stringify({ ...message, id })}\n`)
  reply(response, { status: 200, text: JSON.stringify({ ...(await answered), id: message.id }) })
})
