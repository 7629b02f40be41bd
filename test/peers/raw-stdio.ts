// A raw client over the pipes of a child, in any of the five revisions.
import { createInterface } from 'node:readline'
import type { Command, JsonObject } from './peer.ts'
import { startChild } from './processes.ts'
import { isModern, openingOf, paramsFor, replyTo } from './raw.ts'
import type { Frame, RawClient, RawOptions, Response } from './raw.ts'

export interface RawStdioClient extends RawClient {
  /** What the child has written to stderr so far. */
  readonly stderr: string
}

/** Starts the command and opens a connection. Rejects when the child ends or refuses the opening request. */
export async function openRawStdio(command: Command, options: RawOptions): Promise<RawStdioClient> {
  const child = startChild(command)
  const frames: Frame[] = []
  const waiting = new Map<number, (answer: Response | undefined) => void>()
  let lastId = 0
  let ended = false

  const write = (message: JsonObject) => {
    frames.push({ direction: 'out', message })
    child.stdin.write(`${JSON.stringify(message)}\n`)
  }

  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    const message = JSON.parse(line) as JsonObject
    frames.push({ direction: 'in', message })
    if (!('method' in message)) {
      waiting.get(Number(message['id']))?.(message)
      waiting.delete(Number(message['id']))
    } else if ('id' in message) write(replyTo(options, message))
  })
  lines.on('close', () => {
    ended = true
    for (const settle of waiting.values()) settle(undefined)
    waiting.clear()
  })

  const request = async (method: string, params?: JsonObject): Promise<Response> => {
    const id = ++lastId
    const full = paramsFor(options, params)
    const answered = new Promise<Response | undefined>((resolve) => {
      if (ended) resolve(undefined)
      else waiting.set(id, resolve)
    })
    if (!ended) write({ jsonrpc: '2.0', id, method, ...(full && { params: full }) })
    const answer = await answered
    if (!answer) throw new Error(`${method} was not answered, the process ended: ${child.stderr()}`)
    return answer
  }

  const notify = async (method: string, params?: JsonObject): Promise<void> => {
    const full = paramsFor(options, params)
    write({ jsonrpc: '2.0', method, ...(full && { params: full }) })
  }

  try {
    const opening = openingOf(options)
    const { result, error } = await request(opening.method, opening.params)
    if (!result) throw new Error(`${opening.method} was refused: ${JSON.stringify(error)}`)
    if (!isModern(options.revision)) await notify('notifications/initialized')
    return {
      revision: options.revision,
      opened: result,
      frames,
      request,
      notify,
      get stderr() {
        return child.stderr()
      },
      [Symbol.asyncDispose]: () => child.stop(),
    }
  } catch (cause) {
    await child.stop()
    throw cause
  }
}
