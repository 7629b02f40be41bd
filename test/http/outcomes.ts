// Outcomes made by hand, as the endpoint reports them.
import type { Outcome } from '../../src/endpoint/index.ts'

/** A modern tool call over HTTP that went well, changed by `change`. */
export function outcomeOf(change: Partial<Outcome> = {}): Outcome {
  return {
    ...{ id: 1, at: 0, ms: 10, era: 'modern', reason: 'marker', asked: '2026-07-28', served: '2026-07-28' },
    ...{ method: 'tools/call', transport: 'http', status: 200, code: null, refused: false },
    ...{ client: { name: 'a', version: '1' }, agent: 'node', principal: 'local', remote: '127.0.0.1' },
    ...change,
  }
}

/** A modern request whose version is refused. */
export function refusedOf(change: Partial<Outcome> = {}): Outcome {
  return outcomeOf({
    ...{
      method: 'server/discover',
      asked: '2099-01-01',
      served: null,
      status: 400,
      code: -32022,
      refused: true,
    },
    ...change,
  })
}

export function initializeOf(change: Partial<Outcome> = {}): Outcome {
  return outcomeOf({
    ...{ era: 'legacy', reason: 'method', method: 'initialize', asked: '2025-06-18', served: '2025-06-18' },
    ...change,
  })
}

export const UNNAMED = { name: null, version: null }
