import type { JsonObject } from '../base/index.ts'

/** Seals what travels through clients and comes back, so that it can be neither read nor changed on the way. */
export interface Sealer {
  /** A text of URL-safe letters that only `open` with the same purpose reads. */
  seal(purpose: string, value: JsonObject): string
  /** As `seal`, but the same text for equal values, as long as the newest key is the same. It tells who sees two that they are equal. */
  sealSame(purpose: string, value: JsonObject): string
  /** The value, or undefined where the text was not sealed here, not for this purpose, or was changed. */
  open(purpose: string, text: string): JsonObject | undefined
  /** A short text that is equal for equal texts and else practically never (SHA-256). */
  digest(text: string): string
}
