import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createSealer } from '../../src/endpoint/index.ts'

const key = () => randomBytes(32)

test('a sealed value comes back, for its purpose only', () => {
  const sealer = createSealer([key()])
  const text = sealer.seal('session', { a: 'ü', n: 1 })
  expect(text).toMatch(/^[\w-]+$/)
  expect(sealer.open('session', text)).toEqual({ a: 'ü', n: 1 })
  expect(sealer.open('state', text)).toBeUndefined()
  expect(sealer.seal('session', { a: 'ü', n: 1 })).not.toBe(text)
})

test('no byte of it can be changed', () => {
  const sealer = createSealer()
  const bytes = Buffer.from(sealer.seal('p', { secret: true }), 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(sealer.open('p', changed.toString('base64url'))).toBeUndefined()
  }
  for (const text of ['', 'x', 'not sealed at all', bytes.subarray(0, 28).toString('base64url')]) {
    expect(sealer.open('p', text)).toBeUndefined()
  }
})

test('a new key seals, and what the old one sealed is still read', () => {
  const [old, fresh] = [key(), key()]
  const before = createSealer([old]).seal('p', { v: 1 })
  expect(createSealer([fresh, old]).open('p', before)).toEqual({ v: 1 })
  const after = createSealer([fresh, old]).seal('p', { v: 2 })
  expect(createSealer([old]).open('p', after)).toBeUndefined()
  expect(() => createSealer([randomBytes(16)])).toThrow('32 bytes')
})
