// A file of requests to record: one JSON object a line (docs/record-replay.md).
import { readFileSync } from 'node:fs'
import { isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { HOST, JSON_FIELDS } from './draft.ts'
import type { Draft } from './draft.ts'
import type { Capture } from './exchange-file.ts'
import { parseSelector } from './selector.ts'

/** Throws CORPUS_NOT_FOUND and INPUT_NOT_JSON, with the line. */
export function readRequests(path: string): Draft[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new McpxError('CORPUS_NOT_FOUND', `The file of requests ${path} cannot be read.`, { cause })
  }
  const drafts = text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    try {
      return [draftOf(JSON.parse(line), index)]
    } catch (error) {
      if (error instanceof McpxError && error.code === 'USAGE') throw error
      const why = error instanceof Error ? error.message : String(error)
      throw new McpxError('INPUT_NOT_JSON', `${path}, line ${index + 1}: ${why}`, { cause: error })
    }
  })
  if (drafts.length > 0) return drafts
  throw new McpxError('INPUT_NOT_JSON', `${path} holds no request.`)
}

const KEYS = ['name', 'method', 'path', 'headers', 'body', 'capture', 'events']
const FIELD_NAME = /^[!#$%&'*+.^_`|~\w-]+$/

function draftOf(value: unknown, index: number): Draft {
  if (!isObject(value)) throw new Error('a request is a JSON object.')
  const unknown = Object.keys(value).find((key) => !KEYS.includes(key))
  if (unknown !== undefined) throw new Error(`"${unknown}" is none of ${KEYS.join(', ')}.`)
  const { body, events } = value
  const hasBody = body !== undefined
  const verb = textIn(value, 'method', hasBody ? 'POST' : 'GET')
  const name = textIn(value, 'name', `${verb.toLowerCase()}-${index + 1}`)
  if (!/^[\w][\w.-]{0,79}$/.test(name)) throw new Error(`the name "${name}" is no file name.`)
  if (!/^[A-Za-z]+$/.test(verb)) throw new Error(`the method "${verb}" is no HTTP method.`)
  const path = textIn(value, 'path', '{{path}}')
  if (/\s/.test(path)) throw new Error(`the path "${path}" has a space.`)
  if (events !== undefined && !(Number.isSafeInteger(events) && Number(events) > 0)) {
    throw new Error('events is a number from 1 on.')
  }
  return {
    name,
    verb,
    path,
    fields: fieldsOf(value['headers'], hasBody),
    ...(hasBody ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
    captures: capturesOf(value['capture']),
    ...(events === undefined ? {} : { events: Number(events) }),
  }
}

function textIn(value: JsonObject, key: string, absent: string): string {
  const text = value[key] ?? absent
  if (typeof text !== 'string') throw new Error(`${key} is text.`)
  return text
}

/** Given fields replace those of the same name; null takes one out. */
function fieldsOf(given: unknown, hasBody: boolean): Draft['fields'] {
  const headers = given ?? {}
  if (!isObject(headers)) throw new Error('headers is an object.')
  const own = Object.entries(headers)
  for (const [name, value] of own) {
    const isText = typeof value === 'string' && !/[\r\n]/.test(value)
    if (!FIELD_NAME.test(name) || !(value === null || isText))
      throw new Error(`the header "${name}" is no header.`)
  }
  const names = own.map(([name]) => name.toLowerCase())
  const usual = [HOST, ...(hasBody ? JSON_FIELDS : [])].filter(
    ([name]) => !names.includes(name.toLowerCase()),
  )
  return [
    ...usual,
    ...own.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : [])),
  ]
}

function capturesOf(given: unknown): Capture[] {
  const captures = given ?? {}
  if (!isObject(captures)) throw new Error('capture is an object of names and what they stand for.')
  return Object.entries(captures).map(([name, selector]) => {
    if (!/^[a-z0-9][a-z0-9.-]*$/.test(name) || typeof selector !== 'string') {
      throw new Error(
        `the capture "${name}" needs a name in lower case and a selector such as header:mcp-session-id.`,
      )
    }
    return { name, selector: parseSelector(selector).text }
  })
}
