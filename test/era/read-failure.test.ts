import { expect, test } from 'vitest'
import { readFailure } from '../../src/era/read-failure.ts'
import type { SendFailure } from '../../src/wire/index.ts'
import { error, network, notJson, status, supports, tooLarge, unsupported } from './answers.ts'

const modern = unsupported('2026-07-28')

// The rows of "Streamable HTTP".
test.each<[string, SendFailure, object]>([
  [
    '4xx with our id',
    status(400, { answer: error(-32601) }),
    { kind: 'answer', answer: { error: { code: -32601 } } },
  ],
  ['-32022 in a 400', status(400, { answer: modern }), { kind: 'answer', answer: modern }],
  ['a result in a 404', status(404, { answer: supports('2026-07-28') }), { kind: 'answer' }],
  [
    'a modern error without an id',
    status(400, { answer: modern, id: null }),
    { kind: 'answer', answer: modern },
  ],
  ['a modern error with another id', status(404, { answer: error(-32020), id: 9 }), { kind: 'answer' }],
  ['any other error without an id', status(400, { answer: error(-32000), id: null }), { kind: 'refused' }],
  ['our id as a string', status(400, { answer: error(-32601), id: '1' }), { kind: 'refused' }],
  ['a result with another id', status(400, { answer: supports('2026-07-28'), id: 9 }), { kind: 'refused' }],
  ['-32022 without a list and id', status(400, { answer: error(-32022), id: null }), { kind: 'refused' }],
  ['a bare 400', status(400), { kind: 'refused', bare: true }],
  ['a bare 404', status(404), { kind: 'refused', bare: true }],
  ['a bare 405', status(405), { kind: 'refused', bare: true }],
  ['406', status(406), { kind: 'refused', bare: false }],
  ['415', status(415), { kind: 'refused', bare: false }],
  ['HTML', status(404, { body: '<html>Cannot POST /' }), { kind: 'refused', bare: true }],
  ['a session is asked for', status(400, { body: 'Mcp-Session-Id header is required' }), { kind: 'refused' }],
  ['2xx that is no JSON-RPC', notJson(), { kind: 'not-mcp' }],
  ['202', notJson(202, ''), { kind: 'not-mcp' }],
  ['a redirect elsewhere', status(307), { kind: 'broken', status: 307 }],
  ['no connection', network, { kind: 'broken', status: undefined }],
  ['an answer over the limit', tooLarge, { kind: 'broken', status: undefined }],
])('%s', (_, failure, reading) => {
  expect(readFailure(failure, 1)).toMatchObject(reading)
})

test.each([401, 403, 407])('%i is no evidence, whatever the body', (code) => {
  const headers = { 'www-authenticate': 'Bearer' }
  for (const answer of [modern, error(-32601), supports('2026-07-28')]) {
    expect(readFailure(status(code, { headers, answer }), 1)).toEqual({
      ...{ kind: 'auth', status: code, refusal: undefined },
    })
  }
  expect(readFailure(status(code), 1)).toMatchObject({ kind: 'auth', refusal: undefined })
})

test.each([408, 425, 429])('%i is a delay, whatever the body', (code) => {
  expect(readFailure(status(code, { answer: modern }), 1)).toMatchObject({ kind: 'later', ms: undefined })
})

test.each([
  ['3', 3000],
  ['0', 0],
  ['1.5', 1500],
  ['-1', undefined],
  ['soon', undefined],
  ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
])('Retry-After: %s', (value, ms) => {
  expect(readFailure(status(429, { headers: { 'retry-after': value } }), 1)).toMatchObject({
    kind: 'later',
    ms,
  })
})

test.each([500, 501, 502, 503, 504, 599])('%i concludes nothing, whatever the body', (code) => {
  for (const answer of [modern, error(-32601), supports('2026-07-28')]) {
    expect(readFailure(status(code, { answer }), 1)).toMatchObject({ kind: 'broken', status: code })
  }
})
