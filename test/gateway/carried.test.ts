import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/base/index.ts'
import { carry } from '../../src/gateway/carried.ts'

const SKILLS = 'io.modelcontextprotocol/skills'
const TASKS = 'io.modelcontextprotocol/tasks'

function carried(among: 'several' | 'alone', ...declared: JsonObject[]): JsonObject {
  const into: JsonObject = {}
  for (const one of declared) carry(one, into, among)
  return into
}

test('capabilities of several servers add up, and mcpx tells of changes itself', () => {
  expect(
    carried(
      'several',
      { tools: {}, experimental: { odd: {} } },
      { resources: { subscribe: true }, logging: {} },
    ),
  ).toEqual({ tools: { listChanged: true }, resources: { listChanged: true, subscribe: true }, logging: {} })
})

test('extensions whose methods lead nowhere among several servers are carried from one alone', () => {
  const extensions = { [SKILLS]: {}, 'test.example/odd': { a: 1 }, [TASKS]: {} }
  expect(carried('alone', { extensions })).toEqual({
    extensions: { [SKILLS]: {}, 'test.example/odd': { a: 1 } },
  })
  expect(carried('several', { extensions }, { extensions: { [SKILLS]: { directoryRead: true } } })).toEqual({
    extensions: { [SKILLS]: { directoryRead: true } },
  })
})

test.each([null, [], 'all', 1])('extensions that are %j are none', (extensions) => {
  expect(carried('alone', { extensions })).toEqual({})
})
