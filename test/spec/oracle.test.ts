// Each revision's table against that revision's published schema.
import { expect, test } from 'vitest'
import { QUESTIONS, REVISIONS } from '../../src/spec/index.ts'
import type { MethodFacts, RevisionFacts, RevisionId } from '../../src/spec/index.ts'
import { definitionsOf, resolved, schemaOf, WITHOUT_SCHEMAS } from './published.ts'
import type { Published } from './published.ts'

/** Methods that a schema publishes and the table rightly lacks, with the reason. */
const NOT_IN_TABLE: Partial<Record<RevisionId, Readonly<Record<string, string>>>> = {
  '2026-07-28': {
    'sampling/createMessage': 'an entry of inputRequests, never a request on the wire',
    'roots/list': 'an entry of inputRequests, never a request on the wire',
    'elicitation/create': 'an entry of inputRequests, never a request on the wire',
  },
}

/** Codes that a table gives a meaning by the text of its revision only. */
const CODES_OF_THE_TEXT = { resourceNotFound: 'server/resources, error handling' }

if (WITHOUT_SCHEMAS !== undefined) {
  test('published schemas', (context) => context.skip(WITHOUT_SCHEMAS))
}

for (const revision of REVISIONS as readonly RevisionFacts[]) {
  const id = revision.id as RevisionId
  const check = test.skipIf(WITHOUT_SCHEMAS !== undefined)

  check(`${id}: the table has the methods that the schema publishes`, () => {
    const expected = new Set(publishedMethods(id).keys())
    for (const [method, reason] of Object.entries(NOT_IN_TABLE[id] ?? {})) {
      expect(expected, `stale exception, no longer published: ${method} (${reason})`).toContain(method)
      expect(revision.methods, `stale exception, now in the table: ${method}`).not.toHaveProperty([method])
      expected.delete(method)
    }
    expect(Object.keys(revision.methods).sort()).toEqual([...expected].sort())
  })

  check(`${id}: who sends what, and whether it is a request`, () => {
    const facts = Object.fromEntries(
      Object.entries(revision.methods).map(([method, { kind, sentBy }]) => [method, { kind, sentBy }]),
    )
    expect(facts).toEqual(sendersOf(id))
  })

  check(`${id}: lists, content, caching and asking`, () => {
    const methods = publishedMethods(id)
    for (const [method, facts] of Object.entries(revision.methods)) {
      if (facts.kind !== 'request') continue
      const shape = resultShape(id, methods.get(method) ?? '')
      if (shape === undefined) continue
      expect({ method, ...pick(facts) }).toEqual({ method, ...shape })
    }
  })

  check(`${id}: error codes`, () => {
    const published = new Set(codesIn(definitionsOf(schemaOf(id))))
    const table: Record<string, number> = { ...revision.errors }
    for (const name of Object.keys(CODES_OF_THE_TEXT)) {
      expect(table).toHaveProperty(name)
      delete table[name]
    }
    for (const code of published) expect(Object.values(table)).toContain(code)
    const own = Object.values(table).filter((code) => code > -32_600)
    expect(own.filter((code) => !published.has(code))).toEqual([])
  })

  check(`${id}: the questions that it knows are published, and no other revision's`, () => {
    const published = publishedMethods(id)
    for (const [method, { since }] of Object.entries(QUESTIONS)) {
      expect(published.has(method), `${method} in ${id}`).toBe(since <= id)
    }
  })
}

/** Method to the name of the definition of its message. */
function publishedMethods(id: RevisionId): Map<string, string> {
  const methods = new Map<string, string>()
  for (const [name, definition] of Object.entries(definitionsOf(schemaOf(id)))) {
    const method = definition.properties?.['method']?.const
    if (typeof method === 'string') methods.set(method, name)
  }
  return methods
}

/** Read from the four unions. A union of one is published as that message itself. */
function sendersOf(id: RevisionId): Record<string, Pick<MethodFacts, 'kind' | 'sentBy'>> {
  const definitions = definitionsOf(schemaOf(id))
  const senders: Record<string, Pick<MethodFacts, 'kind' | 'sentBy'>> = {}
  for (const kind of ['request', 'notification'] as const) {
    for (const side of ['client', 'server'] as const) {
      const union = definitions[`${capital(side)}${capital(kind)}`]
      for (const member of union?.anyOf ?? (union === undefined ? [] : [union])) {
        const method = String(resolved(member, definitions).properties?.['method']?.const)
        senders[method] = { kind, sentBy: method in senders ? 'either' : side }
      }
    }
  }
  return senders
}

type ResultFacts = Pick<MethodFacts, 'lists' | 'carries' | 'cacheable' | 'mayAsk'>

function pick({ lists, carries, cacheable, mayAsk }: MethodFacts): ResultFacts {
  return {
    ...(lists && { lists }),
    ...(carries && { carries }),
    ...(cacheable && { cacheable }),
    ...(mayAsk && { mayAsk }),
  }
}

/** Undefined for a request without a result of its own name (ping, tasks of other requests' results). */
function resultShape(id: RevisionId, request: string): ResultFacts | undefined {
  const definitions = definitionsOf(schemaOf(id))
  const name = request.replace(/Request$/, 'Result')
  const properties = definitions[name]?.properties
  if (properties === undefined || name === 'GetTaskPayloadResult') return undefined
  const list = 'nextCursor' in properties ? Object.keys(properties).find(holdsItems(properties)) : undefined
  const content = ['content', 'messages', 'contents'].find((field) => properties[field]?.['type'] === 'array')
  // Before 2026-07-28 the schemas do not say which requests may lead to a question; any could.
  const modern = `${name}Response` in definitions
  const response = definitions[`${name}Response`]?.properties?.['result']?.anyOf
  const asks = modern
    ? response?.some(({ $ref }) => $ref?.endsWith('/InputRequiredResult'))
    : content !== undefined
  return {
    ...(list !== undefined && { lists: list as NonNullable<MethodFacts['lists']> }),
    ...(content !== undefined && { carries: content as NonNullable<MethodFacts['carries']> }),
    ...('ttlMs' in properties && { cacheable: true }),
    ...(asks === true && { mayAsk: true }),
  }
}

function holdsItems(properties: Readonly<Record<string, Published>>): (field: string) => boolean {
  return (field) => properties[field]?.['type'] === 'array'
}

function codesIn(value: unknown): number[] {
  if (Array.isArray(value)) return value.flatMap(codesIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => {
    const code: unknown =
      key === 'code' && typeof member === 'object' ? (member as Published).const : undefined
    return typeof code === 'number' ? [code] : codesIn(member)
  })
}

function capital(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`
}
