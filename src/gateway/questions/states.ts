// Request states: what a caller carries from one round to the next. Sealed, bound to the request and its principal, and dated.
import { canonicalJson, isObject, McpxError } from '../../base/index.ts'
import type { Clock, JsonObject } from '../../base/index.ts'
import type { Call, Sealer } from '../../wire/index.ts'

export type StateContent =
  /** The server keeps nothing: `upstream` is its own state, `kept` what was answered without the caller. */
  | {
      readonly kind: 'relay'
      readonly upstream: string | undefined
      readonly kept: JsonObject
      readonly round: number
    }
  /** The call is to be made anew, without answers: what it needed happens elsewhere. */
  | { readonly kind: 'again'; readonly round: number }
  /** The call waits in a process of mcpx. */
  | { readonly kind: 'parked'; readonly call: string; readonly replica: string; readonly round: number }

/** What a state belongs to. */
export interface Bound {
  readonly server: string
  readonly principal: string
  /** Digest of the request, without what a retry adds or changes. */
  readonly request: string
}

const PURPOSE = 'request state'

export class States {
  readonly #sealer: Sealer
  readonly #clock: Clock
  readonly #ttl: () => number

  /** `ttl` in ms. */
  constructor(sealer: Sealer, clock: Clock, ttl: () => number) {
    this.#sealer = sealer
    this.#clock = clock
    this.#ttl = ttl
  }

  /** What the states of a call belong to. Its digest is made where a state is opened or sealed: most calls need none. */
  bindingOf(server: string, { method, params = {}, caller }: Call): Bound {
    const digest = (): string => {
      const { _meta: _, inputResponses: __, requestState: ___, ...salient } = params
      return this.digestOf([method, salient])
    }
    return {
      ...{ server, principal: caller.principal },
      get request() {
        return digest()
      },
    }
  }

  /** The digest of any value. */
  digestOf(value: unknown): string {
    return this.#sealer.digest(canonicalJson(value))
  }

  seal(content: StateContent, { server, principal, request }: Bound): string {
    const expires = this.#clock.now() + this.#ttl()
    return this.#sealer.seal(PURPOSE, { ...content, server, principal, request, expires })
  }

  /** Opens what a caller brings back. Throws `STATE_INVALID`, saying what does not fit. */
  open(text: string, bound: Bound): StateContent {
    const sealed = this.#sealer.open(PURPOSE, text)
    if (sealed === undefined) throw invalid('it was not made here, or was changed on the way')
    if (sealed['principal'] !== bound.principal) throw invalid('it belongs to another principal')
    if (sealed['server'] !== bound.server || sealed['request'] !== bound.request) {
      throw invalid('it belongs to another request; method and params must be those of the first one')
    }
    const { expires } = sealed
    if (typeof expires !== 'number' || expires < this.#clock.now()) throw invalid('it has expired')
    const content = contentOf(sealed)
    if (content === undefined) throw invalid('it has a form that this version of mcpx does not know')
    return content
  }
}

export function invalid(why: string): McpxError {
  return new McpxError('STATE_INVALID', `The requestState cannot be used: ${why}. Make the call anew.`)
}

function contentOf(sealed: JsonObject): StateContent | undefined {
  const { kind, round, upstream, kept, call, replica } = sealed
  if (typeof round !== 'number') return undefined
  if (kind === 'again') return { kind, round }
  if (kind === 'relay') {
    const state = typeof upstream === 'string' ? upstream : undefined
    return { kind, upstream: state, kept: isObject(kept) ? kept : {}, round }
  }
  if (kind !== 'parked' || typeof call !== 'string' || typeof replica !== 'string') return undefined
  return { kind, call, replica, round }
}
