// What is done to a body as bytes.
import { gzipSync } from 'node:zlib'
import type { World } from './draft.ts'
import type { Random } from './random.ts'

type BodyChange = readonly [name: string, (body: Buffer, random: Random, world: World) => Buffer]

export const BODY_CHANGES: readonly BodyChange[] = [
  ['cut short', (body, random) => body.subarray(0, random.below(body.length + 1))],
  [
    'another byte',
    (body, random) => {
      const changed = Buffer.from(body)
      if (body.length > 0) changed[random.below(body.length)] = random.below(256)
      return changed
    },
  ],
  [
    'garbage behind',
    (body, random) => Buffer.concat([body, Buffer.from(random.pick(['}', ',', '\0', '{}', '//']))]),
  ],
  ['space around', (body) => Buffer.concat([Buffer.from(' \n\t'), body, Buffer.from('\r\n ')])],
  ['a byte order mark', (body) => Buffer.concat([Buffer.from('\ufeff'), body])],
  ['UTF-16', (body) => Buffer.from(body.toString(), 'utf16le')],
  ['Latin-1', (body) => Buffer.from(body.toString(), 'latin1')],
  ['gzip', (body) => gzipSync(body)],
  ['no bytes', () => Buffer.alloc(0)],
  [
    'values that JSON does not have',
    (_, random) => Buffer.from(random.pick(['NaN', '{"id":Infinity}', "{'a':1}", '[1,]'])),
  ],
  ['an id beyond all numbers', () => Buffer.from('{"jsonrpc":"2.0","id":1e999,"method":"ping"}')],
  [
    'nested deeply',
    (_, random) => Buffer.from('['.repeat(1500) + (random.chance(0.5) ? ']'.repeat(1500) : '')),
  ],
  ['as large as may be', (body, _, { maxBody }) => padded(body, maxBody)],
  ['a byte larger than may be', (body, _, { maxBody }) => padded(body, maxBody + 1)],
  ['much larger than may be', (body, _, { maxBody }) => padded(body, maxBody * 3)],
]

function padded(body: Buffer, size: number): Buffer {
  return Buffer.concat([body, Buffer.alloc(Math.max(0, size - body.length), ' ')])
}
