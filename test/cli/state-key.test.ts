import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { stateKeys } from '../../src/cli/state-key.ts'
import { createSealer } from '../../src/endpoint/index.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcpx-key-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a key is made once, for its owner alone, and read again', () => {
  const first = stateKeys(folder, [])
  expect(stateKeys(folder, [])).toEqual(first)
  expect(readdirSync(folder)).toEqual(['state.key'])
  if (process.platform !== 'win32') expect(statSync(join(folder, 'state.key')).mode & 0o777).toBe(0o600)
})

test('a file without a good key is put aside, so that every process has the same key after it', () => {
  writeFileSync(join(folder, 'state.key'), 'short')
  const made = stateKeys(folder, [])
  expect(stateKeys(folder, [])).toEqual(made)
  expect(readFileSync(join(folder, 'state.key.broken'), 'utf8')).toBe('short')
})

test('keys can be rotated: the first line seals, all of them open', () => {
  const [old] = stateKeys(folder, [])
  const sealed = createSealer([old as Uint8Array]).seal('p', { a: 1 })
  const fresh = Buffer.alloc(32, 7).toString('base64')
  writeFileSync(join(folder, 'state.key'), `${fresh}\n${Buffer.from(old as Uint8Array).toString('base64')}\n`)
  const rotated = createSealer(stateKeys(folder, []))
  expect(rotated.open('p', sealed)).toEqual({ a: 1 })
  expect(createSealer([old as Uint8Array]).open('p', rotated.seal('p', { b: 2 }))).toBeUndefined()
})

test('configured keys win and leave the folder alone; one that is none is refused without being repeated', () => {
  const key = Buffer.alloc(32, 1)
  expect(stateKeys(folder, [key.toString('base64')])).toEqual([key])
  expect(readdirSync(folder)).toEqual([])
  expect(() => stateKeys(folder, ['c2hvcnQ='])).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.not.stringContaining('c2hvcnQ') }),
  )
})
