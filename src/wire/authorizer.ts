// The contract between those who send HTTP requests (transport) and those who hold credentials (oauth).
import type { McpxError } from '../base/index.ts'

/** The credentials of one HTTP server, for one principal. */
export interface Authorizer {
  /** The `Authorization` of the next request; undefined where there is none yet. Never throws or rejects. */
  header(): string | undefined | Promise<string | undefined>
  /**
   * Hears that the server answered 401 or 403. Resolves with `again` where the request should be sent once more, with the
   * header of then, or with why it cannot succeed; undefined where the refusal is not about credentials. Never rejects.
   */
  refused(refusal: Refusal): Promise<'again' | McpxError | undefined>
}

export interface Refusal {
  readonly status: number
  /** `WWW-Authenticate`, several joined by commas. */
  readonly challenge: string | undefined
  /** The `Authorization` that was refused. */
  readonly sent: string | undefined
  /** How often this request has been sent, this time included. */
  readonly attempt: number
}
