// What one legacy session listens to: changed lists, unasked, and the resources that it subscribed to.
import { McpxError } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { METHOD } from '../spec/index.ts'
import type { Caller } from '../wire/index.ts'
import { SUBSCRIBABLE } from './changes.ts'
import type { Member } from './member.ts'
import { formOfCaller, watchTasks } from './tasks/index.ts'
import type { Tasks } from './tasks/index.ts'

export interface ListeningOptions {
  readonly members: readonly Member[]
  readonly caller: Caller
  readonly tasks: Tasks
}

type Notify = (method: string, params: JsonObject) => void

/** Resources that one session may subscribe to. */
const MAX_URIS = 1000

export class Listening {
  readonly #notify: Notify
  readonly #stops: readonly (() => void)[]
  readonly #uris = new Map<string, Promise<() => void>>()
  #stopped = false

  constructor({ members, caller, tasks }: ListeningOptions, notify: Notify) {
    this.#notify = notify
    this.#stops = [
      ...members.map((member) => member.changes.on((kind) => notify(SUBSCRIBABLE[kind].method, {}))),
      ...(formOfCaller(caller) === 'core' ? [watchTasks(tasks, { members, caller }, notify)] : []),
    ]
  }

  /** Subscribes to a resource, once however often it is asked for. Rejects with the McpxError of the subscription. */
  async add(
    uri: string,
    subscribe: (listener: (params: JsonObject) => void) => Promise<() => void>,
  ): Promise<void> {
    if (this.#uris.size >= MAX_URIS && !this.#uris.has(uri)) {
      throw new McpxError('USAGE', `A session may subscribe to ${MAX_URIS} resources; unsubscribe from some.`)
    }
    const subscription =
      this.#uris.get(uri) ?? subscribe((params) => this.#notify(METHOD.resourceUpdated, params))
    this.#uris.set(uri, subscription)
    try {
      const stop = await subscription
      if (this.#stopped) stop()
    } catch (error) {
      this.#uris.delete(uri)
      throw error
    }
  }

  remove(uri: string): void {
    const subscription = this.#uris.get(uri)
    this.#uris.delete(uri)
    subscription?.then(
      (stop) => stop(),
      () => {},
    )
  }

  stop(): void {
    this.#stopped = true
    for (const stop of this.#stops) stop()
    for (const uri of [...this.#uris.keys()]) this.remove(uri)
  }
}
