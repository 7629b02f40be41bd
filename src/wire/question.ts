// What a server may need from the client on the way to an answer: elicitation, sampling, roots.
import type { JsonObject } from '../base/index.ts'

/** One thing that a server asks for. Inside mcpx it has the newest shape, and so has what answers it. */
export interface Question {
  readonly method: string
  readonly params: JsonObject | undefined
}
