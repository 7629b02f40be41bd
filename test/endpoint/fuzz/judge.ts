// Whether an answer is the one that the tables allow.
import type { Json } from './draft.ts'
import { ABSENT, isObject } from './facts.ts'
import type { Facts } from './facts.ts'
import type { Received } from './socket.ts'
import { rowOf } from './tables.ts'
import type { Answer } from './tables.ts'

export interface Judged {
  readonly row: string
  /** What is wrong with the answer, undefined where nothing is. */
  readonly fault: string | undefined
  /** A request that was answered with a result of its own. */
  readonly succeeded: boolean
}

export function judge(facts: Facts, received: Received): Judged {
  const { row, answer } = rowOf(facts)
  const wanted = answer(facts)
  const fault = statusFault(facts, wanted, received) ?? bodyFault(facts, wanted, received)
  return { row, fault, succeeded: fault === undefined && wanted.holds === 'result' }
}

function statusFault({ sent }: Facts, wanted: Answer, { status, headers }: Received): string | undefined {
  if (status !== wanted.status) return `status ${status}, not ${wanted.status}`
  if (headers.has('mcp-session-id') !== (wanted.opensSession === true))
    return 'a session id where none belongs'
  if (status === 401 && !headers.has('www-authenticate')) return '401 without a challenge'
  if (status === 405 && headers.get('allow')?.includes('POST') !== true) return '405 without Allow'
  if (wanted.holds === 'nothing' || wanted.holds === 'anything' || sent.verb === 'HEAD') return undefined
  const type = headers.get('content-type')
  const isStream = type === 'text/event-stream'
  if (isStream ? headers.get('x-accel-buffering') !== 'no' : type !== 'application/json')
    return `type ${type}`
  return undefined
}

function bodyFault(facts: Facts, wanted: Answer, received: Received): string | undefined {
  if (wanted.holds === 'anything' || facts.sent.verb === 'HEAD') return undefined
  if (wanted.holds === 'nothing') return received.body === '' ? undefined : 'a body where none belongs'
  const message = messageOf(received)
  if (wanted.holds === 'batch') return batchFault(wanted.id, message)
  if (!isObject(message) || message['jsonrpc'] !== '2.0') return 'no message'
  if (!sameId(wanted.id, message)) return `the id ${JSON.stringify(message['id'])}, not ${show(wanted.id)}`
  return wanted.holds === 'error' ? errorFault(wanted, message) : resultFault(facts, message)
}

function errorFault(wanted: Answer, message: Json): string | undefined {
  const { error } = message
  if (!isObject(error) || 'result' in message) return 'no error'
  if (error['code'] !== wanted.code) return `code ${JSON.stringify(error['code'])}, not ${wanted.code}`
  const text = error['message']
  if (typeof text !== 'string' || text === '' || text.length > 400) return 'no text, or too much of it'
  const isSame = JSON.stringify(error['data']) === JSON.stringify(wanted.data)
  return wanted.data === undefined || isSame ? undefined : `data ${JSON.stringify(error['data'])}`
}

function resultFault({ era, method }: Facts, message: Json): string | undefined {
  const { result } = message
  if (!isObject(result) || 'error' in message) return 'no result'
  const meta = result['_meta']
  const isSigned = isObject(meta) && isObject(meta['io.modelcontextprotocol/serverInfo'])
  if (isSigned !== (era === 'modern')) return 'signed in the wrong era, or not signed'
  if (method !== 'initialize') return undefined
  return /^20(24-11-05|25-)/.test(String(result['protocolVersion']))
    ? undefined
    : 'no legacy version agreed on'
}

function batchFault(ids: unknown, message: unknown): string | undefined {
  if (!Array.isArray(message)) return 'no batch'
  const given = (message as Json[]).map(({ id }) => id)
  return JSON.stringify(given) === JSON.stringify(ids) ? undefined : `ids ${JSON.stringify(given)}`
}

/** The JSON of the body, or of the last event of a stream. */
function messageOf({ headers, body }: Received): unknown {
  const isStream = headers.get('content-type') === 'text/event-stream'
  const text = isStream
    ? body
        .split('\n')
        .findLast((line) => /^data: ./.test(line))
        ?.slice(6)
    : body
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

function sameId(wanted: unknown, message: Json): boolean {
  if (wanted === ABSENT) return !('id' in message)
  return 'id' in message && JSON.stringify(message['id']) === JSON.stringify(wanted)
}

function show(id: unknown): string {
  return id === ABSENT ? 'none' : JSON.stringify(id)
}
