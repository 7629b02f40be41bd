import { expect, test } from 'vitest'
import { SILENT } from '../../src/base/index.ts'
import { createSealer } from '../../src/endpoint/index.ts'
import { createGateway } from '../../src/gateway/index.ts'
import type { GatewayOptions } from '../../src/gateway/gateway.ts'
import type { Naming } from '../../src/gateway/names.ts'
import { memoryOnly, Pool } from '../../src/pool/index.ts'
import type { ServerSpec } from '../../src/pool/index.ts'
import { createDialer, systemClock } from '../../src/transport/index.ts'

test('two servers of one prefix are refused, unless no prefix tells servers apart', () => {
  expect(() => gatewayOf({ first: 'shop', second: 'shop' }, 'prefix')).toThrow(
    expect.objectContaining({ code: 'NAME_CLASH', message: expect.stringContaining('"first" and "second"') }),
  )
  expect(gatewayOf({ first: 'shop', second: 'store' }, 'prefix').members).toHaveLength(2)
  expect(gatewayOf({ first: 'shop', second: 'shop' }, 'none').members).toHaveLength(2)
})

function gatewayOf(
  prefixes: Readonly<Record<string, string>>,
  naming: Naming,
): ReturnType<typeof createGateway> {
  const io = { clock: systemClock, log: SILENT }
  const pool = new Pool(Object.keys(prefixes).map(specOf), {
    ...io,
    dialer: createDialer({ ...io }),
    random: () => 0,
    identity: { info: { name: 'test', version: '1' }, capabilities: {} },
    eras: memoryOnly(),
    eraMaxAge: () => 0,
    maxStarting: 1,
  })
  const servers = Object.entries(prefixes).map(
    ([name, prefix]) => [name, { prefix, filter: { include: undefined, exclude: undefined } }] as const,
  )
  return createGateway({
    ...io,
    pool,
    servers: new Map(servers),
    naming,
    patience: () => 0,
    questions: QUESTIONS,
  })
}

const QUESTIONS: GatewayOptions['questions'] = {
  ...{ sealer: createSealer(), newId: () => 'id', operator: 'local', inbox: () => 'off' },
  ...{ ttl: () => 1, stateTtl: () => 1, rounds: () => 1, maxParked: () => 1, maxParkedAll: () => 1 },
}

/** A server that is never started. */
function specOf(name: string): ServerSpec {
  return {
    name,
    target: { kind: 'stdio', command: 'none', args: [], env: {}, cwd: undefined },
    transport: 'stdio',
    digest: name,
    scope: 'global',
    max: 1,
    min: 0,
    start: 'lazy',
    tuning: () => ({
      preference: 'prefer-discover',
      probeTimeout: 1,
      startTimeout: 1,
      callTimeout: 1,
      callTimeoutMax: 1,
      idleTimeout: 1,
    }),
  }
}
