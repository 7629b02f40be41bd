import { clip } from '../base/index.ts'
import type { Log } from '../base/index.ts'

export interface Noise {
  /** What a server sent that is no JSON-RPC message. */
  skip(text: string, reason: string): void
  /** The channel is gone: says how much there was, where it was more than the warning showed. */
  end(): void
}

/** Counts what a server sends beside its messages, and warns once a channel. */
export function createNoise(log: Log, server: string): Noise {
  let count = 0
  return {
    skip(text, reason) {
      count += 1
      if (count > 1) return
      log.warn(`server "${server}" sends what is no JSON-RPC message; it is skipped`, {
        server,
        reason,
        text: clip(text),
      })
    },
    end() {
      if (count > 1) log.debug(`skipped what server "${server}" sent beside its messages`, { server, count })
    },
  }
}
