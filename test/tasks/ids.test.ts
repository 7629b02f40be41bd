import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createSealer } from '../../src/endpoint/index.ts'
import { TaskIds } from '../../src/gateway/tasks/index.ts'

const key = randomBytes(32)
const ids = () => new TaskIds(createSealer([key]))
const ref = { server: 'jobs', id: 'task-1', held: false }

test('a task has one id wherever it is named, and it leads back to it', () => {
  const id = ids().of(ref, 'ann')
  expect(id).toMatch(/^[\w-]+$/)
  expect(ids().of({ held: false, id: 'task-1', server: 'jobs' }, 'ann')).toBe(id)
  expect(ids().read(id, 'ann')).toEqual(ref)
})

test('other tasks, servers and principals have other ids', () => {
  const all = [
    ids().of(ref, 'ann'),
    ids().of(ref, 'bob'),
    ids().of({ ...ref, id: 'task-2' }, 'ann'),
    ids().of({ ...ref, server: 'other' }, 'ann'),
    ids().of({ ...ref, held: true }, 'ann'),
  ]
  expect(new Set(all).size).toBe(all.length)
  // Two that are alike share no beginning either: the nonce is of the whole content.
  expect(new Set(all.map((id) => id.slice(0, 16))).size).toBe(all.length)
})

test('an id is nothing to another principal, nor what was not made here', () => {
  const id = ids().of(ref, 'ann')
  expect(ids().read(id, 'bob')).toBeUndefined()
  for (const text of ['', 'task-1', undefined, 1, `${id}x`.slice(1), id.slice(0, -4)])
    expect(ids().read(text, 'ann')).toBeUndefined()
  expect(new TaskIds(createSealer()).read(id, 'ann')).toBeUndefined()
  // A text that was sealed for something else is no task.
  const other = createSealer([key]).seal('session', { ...ref, principal: 'ann' })
  expect(ids().read(other, 'ann')).toBeUndefined()
})
