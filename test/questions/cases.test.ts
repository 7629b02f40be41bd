// Known cases of questions that got lost between a legacy client and a legacy server.
import { expect, test } from 'vitest'
import { openRawHttp } from '../peers/raw-http.ts'
import { word } from './modern-caller.ts'
import { openHere, OVER } from './setup.ts'

test.each(OVER)(
  'cases C22 and C25: a client without a GET stream is asked on the stream of its call, by a server over %s with string ids',
  async (over) => {
    await using here = await openHere(over)
    await using client = await openRawHttp(here.mcp, {
      revision: '2025-11-25',
      capabilities: { elicitation: {} },
      answer: (method, { message }) =>
        method === 'elicitation/create' ? word(`told for ${String(message)}`) : undefined,
    })
    const { result } = await client.request('tools/call', { name: 'ask', arguments: { token: 'ann' } })
    expect(result).toMatchObject({ content: [{ text: 'ann: told for Who is ann?' }] })
    const questions = client.frames.filter(({ message }) => message['method'] === 'elicitation/create')
    expect(questions).toMatchObject([{ direction: 'in', http: { status: 200 } }])
    const [asked] = here.ledger.like({ kind: 'asked' })
    expect(here.ledger.like({ kind: 'answered' })).toMatchObject([
      { id: asked?.['id'], idType: 'string', result: word('told for Who is ann?') },
    ])
    // The ids of one hop mean nothing on the other.
    expect(questions[0]?.message['id']).not.toBe(asked?.['id'])
  },
)

test.each(OVER)(
  'a client that declared nothing is not asked, and the server over %s is told at once',
  async (over) => {
    await using here = await openHere(over)
    await using client = await openRawHttp(here.mcp, { revision: '2025-11-25' })
    const { result } = await client.request('tools/call', { name: 'ask', arguments: { token: 'ann' } })
    expect(result).toMatchObject({ content: [{ text: 'ann: refused (-32601)' }] })
    expect(client.frames.filter(({ message }) => message['method'] === 'elicitation/create')).toEqual([])
  },
)
