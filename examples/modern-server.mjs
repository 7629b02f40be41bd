// A server of revision 2026-07-28 only, over HTTP: no sessions, and clients of older revisions are refused.
//   node examples/modern-server.mjs [--port N]      prints its URL
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node'
import { completable, createMcpHandler, McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { z } from 'zod'

/** @typedef {import('@modelcontextprotocol/node').NodeIncomingMessageLike} NodeRequest */

/** Metres in one of each unit. @type {Record<string, number>} */
const METRES = { metre: 1, kilometre: 1000, mile: 1609.344, foot: 0.3048 }
const AUDIENCES = ['a child', 'a colleague', 'an expert']
const UNIT = z.enum(/** @type {[string, ...string[]]} */ (Object.keys(METRES)))
const readOnly = { readOnlyHint: true, idempotentHint: true, openWorldHint: false }

/** @param {object} value */
const answer = (value) => ({
  content: [{ type: /** @type {const} */ ('text'), text: JSON.stringify(value) }],
  structuredContent: { ...value },
})

// A server of its own for every request: nothing is kept between two.
function makeServer() {
  const server = new McpServer({ name: 'units', title: 'Units', version: '1.0.0' })

  server.registerTool(
    'convert',
    {
      title: 'Convert a length',
      description: 'Converts a length from one unit to another.',
      inputSchema: z.object({ value: z.number(), from: UNIT, to: UNIT }),
      outputSchema: z.object({ value: z.number(), unit: UNIT }),
      annotations: readOnly,
    },
    ({ value, from, to }) =>
      answer({ value: (value * (METRES[from] ?? NaN)) / (METRES[to] ?? NaN), unit: to }),
  )

  server.registerTool(
    'text_stats',
    {
      title: 'Count words',
      description: 'Counts the characters, words and lines of a text.',
      inputSchema: z.object({ text: z.string().describe('Any text') }),
      outputSchema: z.object({ characters: z.int(), words: z.int(), lines: z.int() }),
      annotations: readOnly,
    },
    ({ text }) =>
      answer({
        characters: text.length,
        words: text.split(/\s+/).filter(Boolean).length,
        lines: text.split('\n').length,
      }),
  )

  server.registerPrompt(
    'explain_unit',
    {
      title: 'Explain a unit',
      description: 'Asks for an explanation of a unit of length.',
      argsSchema: z.object({
        unit: z.string().describe('The unit to explain'),
        audience: completable(z.string().describe('Who it is for'), (typed) =>
          AUDIENCES.filter((audience) => audience.startsWith(typed)),
        ),
      }),
    },
    ({ unit, audience }) => ({
      description: `Explain the ${unit}`,
      messages: [
        { role: 'user', content: { type: 'text', text: `Explain the unit "${unit}" to ${audience}.` } },
      ],
    }),
  )

  server.registerResource(
    'lengths',
    'units://lengths',
    { title: 'Units of length', description: 'Every unit, in metres.', mimeType: 'application/json' },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify(METRES) }] }),
  )

  server.registerResource('about', 'units://about', { title: 'About', mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Lengths, converted by way of the metre.' }],
  }))

  server.registerResource(
    'length',
    new ResourceTemplate('units://lengths/{unit}', {
      list: undefined,
      complete: { unit: (typed) => Object.keys(METRES).filter((name) => name.startsWith(typed)) },
    }),
    { title: 'One unit of length', mimeType: 'text/plain' },
    (uri, { unit }) => ({
      contents: [{ uri: uri.href, mimeType: 'text/plain', text: `${METRES[String(unit)]} metres` }],
    }),
  )
  return server
}

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } })
const handler = toNodeHandler(createMcpHandler(makeServer, { legacy: 'reject' }))
const hostIsLocal = localhostHostValidation()
const originIsLocal = localhostOriginValidation()

const http = createServer((request, response) => {
  if (hostIsLocal(request, response) && originIsLocal(request, response))
    void handler(/** @type {NodeRequest} */ (request), response)
})
http.listen(Number(values.port), '127.0.0.1', () => {
  const address = http.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/mcp`)
})
