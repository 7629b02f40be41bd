// Questions of a server put to a person: on a terminal, field by field, or read from `key=value` words.
import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { METHOD } from '../spec/index.ts'
import { printable, textOf } from './output.ts'

/** A question as the REST interface and results have it. */
export interface Asked {
  readonly server: string
  readonly method: string
  readonly params: JsonObject
}

export interface Terminal {
  readonly input: Readable
  readonly output: Writable
}

/** Asks a person. Resolves with the result that answers the question, or undefined where a terminal cannot answer it. */
export async function putToPerson(asked: Asked, terminal: Terminal): Promise<JsonObject | undefined> {
  const { method, params, server } = asked
  if (method !== METHOD.elicit) return undefined
  const lines = createInterface({ ...terminal, terminal: false })
  const say = (text: string): void => void terminal.output.write(`${printable(text)}\n`)
  const typed = linesOf(lines)
  const read: Read = (prompt) => {
    terminal.output.write(printable(prompt))
    return typed()
  }
  try {
    say(`\n${server} asks: ${textOf(params['message'])}`)
    return params['mode'] === 'url' ? await visit(params, say, read) : await fill(params, say, read)
  } finally {
    lines.close()
  }
}

/** Values of `key=value` words, each of the type that the form wants. Throws a SyntaxError that names the word. */
export function valuesOf(words: readonly string[], schema: unknown): JsonObject {
  const fields = fieldsOf(schema)
  const values: JsonObject = {}
  for (const word of words) {
    const at = word.indexOf('=')
    if (at < 1) throw new SyntaxError(`"${word}" is not key=value`)
    const key = word.slice(0, at)
    const read = valueOf(word.slice(at + 1), fields.get(key) ?? {})
    if ('fault' in read) throw new SyntaxError(`${key}: ${read.fault}`)
    values[key] = read.value
  }
  return values
}

/** The lines in their order, those included that were typed ahead; undefined once the input has ended. */
function linesOf(lines: Interface): () => Promise<string | undefined> {
  const ahead: string[] = []
  const input = { ended: false }
  let wake: (() => void) | undefined
  lines.on('line', (line) => {
    ahead.push(line)
    wake?.()
  })
  lines.once('close', () => {
    input.ended = true
    wake?.()
  })
  return async () => {
    while (ahead.length === 0 && !input.ended) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    return ahead.shift()
  }
}

type Say = (text: string) => void
type Read = (prompt: string) => Promise<string | undefined>

/** Nothing is opened: a person looks at the address first. */
async function visit(params: JsonObject, say: Say, read: Read): Promise<JsonObject> {
  say(`Open this address yourself, if you trust it:\n  ${textOf(params['url'])}`)
  const said = await read('Done? [y = yes, n = no, anything else = not now] ')
  return { action: said === 'y' ? 'accept' : said === 'n' ? 'decline' : 'cancel' }
}

async function fill(params: JsonObject, say: Say, read: Read): Promise<JsonObject> {
  const schema = isObject(params['requestedSchema']) ? params['requestedSchema'] : {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const content: JsonObject = {}
  for (const [key, field] of fieldsOf(schema)) {
    const needed = required.includes(key)
    for (;;) {
      const said = await read(promptFor(key, field, needed))
      if (said === undefined) return { action: 'cancel' }
      if (said === '' && field['default'] !== undefined) content[key] = field['default']
      if (said === '' && (field['default'] !== undefined || !needed)) break
      if (said === '' && needed) return { action: 'decline' }
      const got = valueOf(said, field)
      if ('value' in got) {
        content[key] = got.value
        break
      }
      say(`  ${got.fault}`)
    }
  }
  return { action: 'accept', content }
}

function promptFor(key: string, field: JsonObject, needed: boolean): string {
  const title = typeof field['title'] === 'string' ? field['title'] : key
  const about = typeof field['description'] === 'string' ? ` (${field['description']})` : ''
  const choices = choicesOf(field)
  const among =
    choices.size > 0 ? ` [${choicesText(choices)}]` : field['type'] === 'boolean' ? ' [y | n]' : ''
  const preset = field['default'] === undefined ? '' : `, ${JSON.stringify(field['default'])} if left empty`
  const empty =
    field['default'] === undefined ? (needed ? ', empty declines' : ', may be left empty') : preset
  return `  ${title}${about}${among}${empty}: `
}

function valueOf(text: string, field: JsonObject): { readonly value: unknown } | { readonly fault: string } {
  switch (field['type']) {
    case 'boolean':
      if (/^(y|yes|true)$/i.test(text)) return { value: true }
      return /^(n|no|false)$/i.test(text) ? { value: false } : { fault: 'write y or n' }
    case 'integer':
    case 'number': {
      const number = Number(text)
      const whole = field['type'] === 'number' || Number.isInteger(number)
      return text.trim() !== '' && Number.isFinite(number) && whole
        ? { value: number }
        : { fault: field['type'] === 'integer' ? 'write a whole number' : 'write a number' }
    }
    case 'array': {
      const value = text.split(',').map((item) => item.trim())
      return fitting(value, choicesOf(field)) ? { value } : { fault: `write some of ${namesOf(field)}` }
    }
    default:
      return fitting([text], choicesOf(field)) ? { value: text } : { fault: `write one of ${namesOf(field)}` }
  }
}

function fitting(values: readonly string[], choices: ReadonlyMap<string, string>): boolean {
  return choices.size === 0 || values.every((value) => choices.has(value))
}

function namesOf(field: JsonObject): string {
  return [...choicesOf(field).keys()].join(', ')
}

function choicesText(choices: ReadonlyMap<string, string>): string {
  return [...choices].map(([value, title]) => (title === '' ? value : `${value} = ${title}`)).join(' | ')
}

/** What may be chosen, each with its title, which may be empty. */
function choicesOf(field: JsonObject): ReadonlyMap<string, string> {
  const items = isObject(field['items']) ? field['items'] : field
  const { enum: values, enumNames, oneOf, anyOf } = items
  if (Array.isArray(values)) {
    const titles: readonly unknown[] = Array.isArray(enumNames) ? enumNames : []
    return new Map(values.map((value, at) => [String(value), textOf(titles[at])]))
  }
  const options = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : []
  return new Map(options.filter(isObject).map((option) => [String(option['const']), textOf(option['title'])]))
}

function fieldsOf(schema: unknown): ReadonlyMap<string, JsonObject> {
  const properties = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {}
  return new Map(Object.entries(properties).map(([key, field]) => [key, isObject(field) ? field : {}]))
}
