// A request that carries credentials: refused ones are renewed and the request is sent again, before anybody hears of it.
import type { Authorizer } from '../wire/index.ts'
import type { Exchange, Reply, ResponseHeaders, Running } from './exchange.ts'

export interface AuthorizedOptions {
  readonly authorizer: Authorizer
  /** Makes the exchange that carries this `Authorization`. */
  open(authorization: string | undefined, reply: Reply): Exchange
}

/** A renewal and a step-up each cost one sending more. */
const MAX_SENDINGS = 3
/** What is kept of a refusal's body while it is decided whether anybody gets to see it. */
const MAX_BODY_BYTES = 64 * 1024

export class AuthorizedExchange implements Reply, Running {
  readonly #options: AuthorizedOptions
  #reply: Reply | undefined
  #exchange: Exchange | undefined
  #sent: string | undefined
  #sendings = 0
  #refusal: { readonly status: number; readonly headers: ResponseHeaders } | undefined
  #body: Uint8Array[] = []
  #size = 0

  constructor(options: AuthorizedOptions, reply: Reply) {
    this.#options = options
    this.#reply = reply
  }

  start(): void {
    const header = this.#options.authorizer.header()
    if (header === undefined || typeof header === 'string') this.#send(header)
    else void header.then((renewed) => this.#send(renewed))
  }

  abort(): void {
    this.#reply = undefined
    this.#exchange?.abort()
  }

  onMoved(path: string): void {
    this.#reply?.onMoved?.(path)
  }

  onHead(status: number, headers: ResponseHeaders): void {
    if ((status === 401 || status === 403) && this.#sendings < MAX_SENDINGS)
      this.#refusal = { status, headers }
    else this.#reply?.onHead(status, headers)
  }

  onBytes(bytes: Uint8Array): void {
    if (this.#refusal === undefined) return this.#reply?.onBytes(bytes)
    this.#size += bytes.length
    if (this.#size <= MAX_BODY_BYTES) this.#body.push(bytes)
  }

  onEnd(): void {
    if (this.#refusal === undefined) this.#reply?.onEnd()
    else void this.#judge(this.#refusal)
  }

  onError(message: string, sent: boolean): void {
    // The status has said what there is to know, even where the body broke off.
    if (this.#refusal === undefined) this.#reply?.onError(message, sent)
    else void this.#judge(this.#refusal)
  }

  #send(authorization: string | undefined): void {
    if (this.#reply === undefined) return
    this.#sent = authorization
    this.#sendings++
    this.#exchange = this.#options.open(authorization, this)
    this.#exchange.start()
  }

  async #judge({ status, headers }: { status: number; headers: ResponseHeaders }): Promise<void> {
    const challenge = headers['www-authenticate']
    const verdict = await this.#options.authorizer.refused({
      status,
      challenge: Array.isArray(challenge) ? challenge.join(', ') : challenge,
      sent: this.#sent,
      attempt: this.#sendings,
    })
    const body = this.#body
    this.#refusal = undefined
    this.#body = []
    this.#size = 0
    if (verdict === 'again') return this.start()
    if (verdict !== undefined) this.#reply?.onRefused?.(verdict)
    this.#reply?.onHead(status, headers)
    for (const bytes of body) this.#reply?.onBytes(bytes)
    this.#reply?.onEnd()
  }
}
