// A server of the soak on a pipe: node pipe-server.mjs <name> <tools> <era>
import { createInterface } from 'node:readline'
import { acknowledged, changed, Server } from './server.mjs'

const [name = '', tools = '10', era = 'legacy'] = process.argv.slice(2)
const server = new Server(name, Number(tools), /** @type {'legacy' | 'modern'} */ (era))
const write = (/** @type {object} */ message) => process.stdout.write(`${JSON.stringify(message)}\n`)
/** @type {Set<number | string>} */
const listening = new Set()

server.onCrash = () => process.exit(3)
server.onChange = () => {
  if (era === 'legacy') write(changed())
  for (const id of listening) write(changed(id))
}

for await (const line of createInterface({ input: process.stdin })) {
  const frame = JSON.parse(line)
  if (frame.method === 'notifications/cancelled') {
    listening.delete(frame.params.requestId)
    server.cancel(frame.params.requestId)
  } else if (frame.method === 'subscriptions/listen' && era === 'modern') {
    listening.add(frame.id)
    write(acknowledged(frame.id))
  } else if (frame.id !== undefined) server.take(frame, write)
}
