// One HTTP exchange by hand: any verb, any headers, any body.
import { request } from 'node:http'
import { text } from 'node:stream/consumers'

export interface Exchange {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: string
}

/** A header of several values is sent several times. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Message {
  readonly verb: string
  readonly headers?: Headers
  readonly body?: string
}

export function exchange(url: string, { verb, headers = {}, body = '' }: Message): Promise<Exchange> {
  const list = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().flatMap((one) => [name, one]),
  )
  const host = headers['host'] === undefined ? ['host', new URL(url).host] : []
  const length = body === '' ? [] : ['content-length', String(Buffer.byteLength(body))]
  return new Promise((resolve, reject) => {
    const options = { method: verb, headers: [...host, ...list, ...length], agent: false }
    const sent = request(url, options, (response) => {
      text(response).then(
        (received) =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received }),
        reject,
      )
    })
    sent.once('error', reject)
    sent.end(body)
  })
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Posts a body, which is JSON unless it is text already. */
export function post(url: string, body: unknown, headers: Headers = {}): Promise<Exchange> {
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  return exchange(url, { verb: 'POST', headers: { ...JSON_HEADERS, ...headers }, body: sent })
}
