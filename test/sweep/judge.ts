// What is wrong with a frame, and whose fault it is. Whatever a peer got wrong by its own revision mcpx may pass on as it is: a
// vendor's member, a content block of no known type. Everything else in a frame that mcpx sends is its own fault, above all what
// is right in one revision and sent in another.
import { isObject } from '../../src/base/index.ts'
import type { JsonObject } from '../../src/base/index.ts'
import { newest } from '../../src/spec/index.ts'
import type { RevisionId } from '../../src/spec/index.ts'
import { closedSchema } from './closed.ts'
import type { ClosedSchema, Fault } from './closed.ts'
import type { Frame, Side } from './frames.ts'

/** A fault of mcpx: what it sent, where and how often. */
export interface Offence {
  readonly test: string
  readonly sentBy: Side
  readonly method: string
  readonly revision: string
  readonly fault: string
  readonly example: string
  count: number
}

const MODERN = newest('modern')
const schemas = new Map<RevisionId, ClosedSchema>()

/** Requests whose results have another name than theirs. All others without one of their name are answered by nothing. */
const RESULTS: Readonly<Record<string, string>> = {
  GetTaskPayloadRequest: 'GetTaskPayloadResult',
}

/** Takes every frame of a run, in any order; the offences are known at its end. */
export class Judge {
  readonly #suspects = new Map<string, { frame: Frame; revision: RevisionId; faults: readonly Fault[] }>()
  readonly #passedOn = new Set<string>()
  readonly #sent = new Set<string>()
  readonly #received: Frame[] = []
  readonly #counts = new Map<string, number>()
  readonly #judged = new Set<string>()
  #frames = 0

  /** How many frames mcpx sent, and how many of them came from each test file. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  get frames(): number {
    return this.#frames
  }

  take(frame: Frame): void {
    if (!frame.ours) return void this.#received.push(frame)
    this.#frames += 1
    this.#counts.set(frame.test, (this.#counts.get(frame.test) ?? 0) + 1)
    this.#sent.add(textOf(frame))
    const key = `${frame.test} ${frame.revisions.join()} ${textOf(frame)} ${JSON.stringify(frame.request ?? '')}`
    if (this.#judged.has(key)) return
    this.#judged.add(key)
    const { revision, faults } = faultsOf(frame)
    if (faults.length > 0) this.#suspects.set(key, { frame, revision, faults })
  }

  offences(): Offence[] {
    this.#readPeers()
    const offences = new Map<string, Offence>()
    for (const { frame, revision, faults } of this.#suspects.values()) {
      const own = faults.filter(({ key }) => !this.#passedOn.has(`${frame.test} ${key}`))
      if (own.length === 0) continue
      const { test, sentBy } = frame
      const method = nameOf(frame)
      const fault = own.map(({ text }) => text).join('; ')
      const key = [test, sentBy, method, revision, fault.replace(/\d+/g, '#')].join(' ')
      const known = offences.get(key)
      if (known !== undefined) known.count += 1
      else
        offences.set(key, {
          test,
          sentBy,
          method,
          revision,
          fault,
          example: textOf(frame).slice(0, 600),
          count: 1,
        })
    }
    return [...offences.values()]
  }

  /** Only what comes from outside counts: a frame of another mcpx excuses nothing. */
  #readPeers(): void {
    const suspected = new Set([...this.#suspects.values()].map(({ frame }) => frame.test))
    for (const frame of this.#received) {
      if (!suspected.has(frame.test) || this.#sent.has(textOf(frame))) continue
      for (const { key } of faultsOf(frame).faults) this.#passedOn.add(`${frame.test} ${key}`)
    }
  }
}

/** The faults of a message in the revision where it has fewest of them. */
function faultsOf(frame: Frame): { revision: RevisionId; faults: Fault[] } {
  const all = frame.revisions.map((revision) => ({ revision, faults: inRevision(frame, revision) }))
  all.sort((a, b) => a.faults.length - b.faults.length)
  return all[0] ?? { revision: MODERN, faults: [faultOf('message', 'is no object')] }
}

function inRevision(frame: Frame, id: RevisionId): Fault[] {
  const schema = schemas.get(id) ?? closedSchema(id)
  schemas.set(id, schema)
  const { message, batch } = frame
  if (!isObject(message)) return [faultOf('message', 'is no object')]
  const faults = batch && id !== '2025-03-26' ? [faultOf('batch', `in ${id}`)] : []
  if ('method' in message) return [...faults, ...ofCall(frame, message, schema)]
  if ('error' in message) return [...faults, ...ofError(message, schema, id)]
  return [...faults, ...ofResult(frame, message, { schema, id })]
}

function ofCall({ sentBy }: Frame, message: JsonObject, schema: ClosedSchema): Fault[] {
  const method = String(message['method'])
  const definition = schema.messages.get(method)
  const kind = 'id' in message ? 'Request' : 'Notification'
  if (definition === undefined || !definition.endsWith(kind)) return [faultOf('method', method)]
  const union = `${sentBy === 'client' ? 'Client' : 'Server'}${kind}`
  // The extension's messages are in no union, and 2026-07-28 has no requests of servers at all.
  const isExtension = method.startsWith('tasks/') || method === 'notifications/tasks'
  const mayBeSent = schema.includes(union, definition) || (isExtension && schema.has('TaskNotification'))
  const envelope = schema.check(`JSONRPC${kind}`, message)
  return [
    ...(mayBeSent ? [] : [faultOf('sender', `${method} from a ${sentBy}`)]),
    ...envelope,
    ...schema.check(definition, isWhole(schema, definition) ? message : bare(message)),
  ]
}

/** Before 2025-11-25 the definitions of messages are without their envelope. */
function isWhole(schema: ClosedSchema, definition: string): boolean {
  return schema.check(definition, {}).some(({ key }) => key.startsWith('required jsonrpc'))
}

function bare({ method, params }: JsonObject): JsonObject {
  return params === undefined ? { method } : { method, params }
}

function ofError(message: JsonObject, schema: ClosedSchema, id: RevisionId): Fault[] {
  const definition = schema.has('JSONRPCErrorResponse') ? 'JSONRPCErrorResponse' : 'JSONRPCError'
  const error = isObject(message['error']) ? message['error'] : {}
  // JSON-RPC answers what has no readable id with null; the schemas only leave the id out (and the older ones not even that).
  const { id: given, ...rest } = message
  const addressed = given === null || given === undefined ? { ...rest, id: 0 } : message
  const typed = TYPED[id]?.[String(error['code'])]
  return schema.check(typed ?? definition, addressed)
}

/** Errors whose data has a shape. */
const TYPED: Partial<Record<RevisionId, Readonly<Record<string, string>>>> = {
  '2025-11-25': { '-32042': 'URLElicitationRequiredError' },
  '2026-07-28': {
    '-32020': 'HeaderMismatchError',
    '-32021': 'MissingRequiredClientCapabilityError',
    '-32022': 'UnsupportedProtocolVersionError',
  },
}

function ofResult(
  frame: Frame,
  message: JsonObject,
  { schema, id }: { schema: ClosedSchema; id: RevisionId },
): Fault[] {
  const { result, ...rest } = message
  const envelope = schema.check('JSONRPCRequest', { ...rest, method: 'x' })
  if (frame.request === undefined) return [...envelope, faultOf('answer', 'to nothing that was asked')]
  const definition = resultOf(frame.request, result, { schema, id })
  return [...envelope, ...schema.check(definition, definition === OWNERS ? common(result) : result)]
}

/** The result of a method that no revision knows is its owner's, but for what all results have. */
const OWNERS = 'Result'

function common(result: unknown): unknown {
  if (!isObject(result)) return result
  return Object.fromEntries(
    ['_meta', 'resultType'].flatMap((name) => (name in result ? [[name, result[name]]] : [])),
  )
}

function resultOf(
  request: JsonObject,
  result: unknown,
  { schema, id }: { schema: ClosedSchema; id: RevisionId },
): string {
  const asked = schema.messages.get(String(request['method']))
  if (asked === undefined) return OWNERS
  const type = isObject(result) ? result['resultType'] : undefined
  if (id === MODERN && type === 'input_required') return 'InputRequiredResult'
  if (id === MODERN && type === 'task') return 'CreateTaskResult'
  const params = isObject(request['params']) ? request['params'] : {}
  if (id !== MODERN && 'task' in params && schema.has('CreateTaskResult')) return 'CreateTaskResult'
  const name = RESULTS[asked] ?? asked.replace(/Request$/, 'Result')
  return schema.has(name) ? name : 'EmptyResult'
}

function faultOf(keyword: string, text: string): Fault {
  return { key: `${keyword} ${text}`, text: `${keyword}: ${text}` }
}

function nameOf({ message, request }: Frame): string {
  if (!isObject(message)) return 'no message'
  if (typeof message['method'] === 'string') return message['method']
  const kind = 'error' in message ? 'error' : 'result'
  return `${kind} of ${typeof request?.['method'] === 'string' ? request['method'] : 'no request'}`
}

function textOf({ message }: Frame): string {
  return JSON.stringify(message)
}
