// Fills the generated parts of docs/ from the tables of the sources. Everything outside the markers is written by hand.
//   node scripts/docs.mjs              writes
//   node scripts/docs.mjs --check      fails when a file is stale
//   node scripts/docs.mjs --docs DIR   works on another folder
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import ts from 'typescript'

/** @typedef {{ name: string, may: string[], node: boolean, npm: string[], owns: string }} Room */

const root = fileURLToPath(new URL('..', import.meta.url))
const { values: given } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    docs: { type: 'string', default: join(root, 'docs') },
  },
})

/** @type {typeof import('../src/base/index.ts')} */
const { FAILURES } = await room('base')
/** @type {typeof import('../src/config/index.ts')} */
const { configMarkdown, PREFERENCES } = await room('config')
/** @type {typeof import('../src/spec/index.ts')} */
const { FEATURES, QUESTIONS, REVISIONS } = await room('spec')

/** What each exit code means. The codes from 64 on are those of sysexits.h. @type {Record<number, string>} */
const EXITS = {
  0: 'done',
  1: 'the tool reported an error, a server could not be listed, a probe found no era, or a replay found a difference; the output says which',
  64: 'the command line, or a name in it, is wrong',
  65: 'the input is not what it should be',
  66: 'a file is missing or cannot be read',
  69: 'a server or a port cannot be used',
  70: 'a defect in mcpx itself',
  75: 'a tool asks something, or too many calls wait for answers: come back with an answer, or later',
  77: 'a server wants credentials, or the daemon refuses the key',
  78: 'the configuration is wrong',
  130: 'interrupted',
}

/** What a client without a feature gets. @type {Record<import('../src/spec/index.ts').Fallback, string>} */
const FALLBACKS = {
  removed: 'nothing',
  'in-initialize': 'the same in the answer to `initialize`',
  text: 'a text block',
  'embedded-resource': 'an embedded resource',
  'object-root': 'a schema of objects, or none',
  'other-code': 'the code of its revision',
  refused: 'the question is not put',
  'enum-names': 'the titles in `enumNames`',
  implied: 'nothing to declare: every client had it',
}

/** @type {Record<string, Record<string, () => string>>} */
const parts = {
  'architecture.md': { rooms: roomTable, graph },
  'eras.md': {
    revisions: revisionTable,
    methods: methodTable,
    features: featureTable,
    preferences: preferenceTable,
  },
  'errors.md': { exits: exitTable, failures: failureTable },
}

/** @type {Record<string, string>} */
const pages = { 'configuration.md': configMarkdown() }
for (const [name, makers] of Object.entries(parts)) pages[name] = filled(name, makers)

const stale = Object.entries(pages).filter(([name, text]) => read(name) !== text)
for (const [name, text] of stale) {
  if (given.check) console.error(`docs/${name} is stale: npm run docs`)
  else writeFileSync(join(given.docs, name), text)
}
if (given.check && stale.length > 0) process.exitCode = 1

// --- pages -------------------------------------------------------------------------------------------------------

/** @param {string} name */
function read(name) {
  const path = join(given.docs, name)
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

/**
 * A page with the text between its markers made anew. Each part must have its markers, once.
 * @param {string} name
 * @param {Record<string, () => string>} makers
 */
function filled(name, makers) {
  let text = read(name)
  for (const [part, make] of Object.entries(makers)) {
    const open = `<!-- generated: ${part} -->\n`
    const close = '<!-- end -->'
    const start = text.indexOf(open)
    const end = text.indexOf(close, start)
    if (start < 0 || end < 0) throw new Error(`docs/${name} has no markers for "${part}"`)
    text = `${text.slice(0, start + open.length)}\n${make()}\n\n${text.slice(end)}`
  }
  return text
}

/** @param {string} name */
function room(name) {
  return import(pathToFileURL(join(root, 'dist', name, 'index.js')).href)
}

/** @param {string[]} head @param {string[][]} rows */
function table(head, rows) {
  const line = (/** @type {string[]} */ cells) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** @param {string} text */
function code(text) {
  return `\`${text}\``
}

/** @param {readonly string[]} names */
function list(names) {
  return names.length === 0 ? '–' : names.map(code).join(' ')
}

// --- rooms -------------------------------------------------------------------------------------------------------

/** @returns {Room[]} */
function rooms() {
  return JSON.parse(readFileSync(join(root, 'architecture', 'rooms.json'), 'utf8')).rooms
}

/** The rooms that a room's files really import, in the order of the table. @param {string} name */
function importsOf(name) {
  const folder = join(root, 'src', name)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  )
  const targets = files.flatMap((path) =>
    ts.preProcessFile(readFileSync(join(folder, path), 'utf8')).importedFiles.map(({ fileName }) => fileName),
  )
  const entered = new Set(targets.map((target) => /([^/]+)\/index\.ts$/.exec(target)?.[1]))
  return rooms()
    .map((other) => other.name)
    .filter((other) => other !== name && entered.has(other))
}

function roomTable() {
  return table(
    ['room', 'owns', 'may import', 'imports', 'Node', 'packages'],
    rooms().map(({ name, owns, may, node, npm }) => [
      code(name),
      owns,
      list(may),
      list(importsOf(name)),
      node ? 'yes' : 'no',
      list(npm),
    ]),
  )
}

/** The real imports. An arrow that a longer way implies is left out. */
function graph() {
  const direct = new Map(rooms().map(({ name }) => [name, importsOf(name)]))
  /** @param {string} from @returns {string[]} */
  const below = (from) => (direct.get(from) ?? []).flatMap((to) => [to, ...below(to)])
  const arrows = [...direct].flatMap(([from, targets]) => {
    const implied = new Set(targets.flatMap(below))
    return targets.filter((to) => !implied.has(to)).map((to) => `  ${from} --> ${to}`)
  })
  const pure = rooms().filter(({ node }) => !node)
  return [
    '```mermaid',
    'flowchart BT',
    ...rooms().map(({ name, node }) => (node ? `  ${name}[${name}]` : `  ${name}([${name}])`)),
    ...arrows,
    `  classDef pure fill:#eef`,
    `  class ${pure.map(({ name }) => name).join(',')} pure`,
    '```',
  ].join('\n')
}

// --- eras --------------------------------------------------------------------------------------------------------

function revisionTable() {
  /** @type {[string, (revision: import('../src/spec/index.ts').RevisionFacts) => string | boolean][]} */
  const facts = [
    ['era', ({ era }) => era],
    ['a client opens with', ({ opening }) => code(opening)],
    ['a server asks its client', ({ asks }) => (asks === 'by-request' ? 'by requests' : 'by results')],
    ['over HTTP', ({ http }) => http.transport],
    ['sessions', ({ http }) => http.sessions],
    ['version header', ({ http }) => http.versionHeader.replaceAll('-', ' ')],
    ['method and name headers', ({ http }) => http.methodHeaders],
    ['batches', ({ http }) => http.batches],
    ['stream by GET', ({ http }) => http.getStream],
    ['streams can be resumed', ({ http }) => http.resumable],
    ['a call is given up by', ({ http }) => http.cancelBy.replaceAll('-', ' ')],
    ['code of an unknown resource', ({ errors }) => code(String(errors['resourceNotFound']))],
  ]
  return table(
    ['', ...REVISIONS.map(({ id }) => id)],
    facts.map(([name, of]) => [name, ...REVISIONS.map((revision) => shown(of(revision)))]),
  )
}

/** @param {string | boolean} fact */
function shown(fact) {
  if (typeof fact === 'string') return fact
  return fact ? 'yes' : 'no'
}

function methodTable() {
  /** @type {Map<string, (import('../src/spec/index.ts').MethodFacts | undefined)[]>} */
  const methods = new Map()
  for (const [index, revision] of REVISIONS.entries()) {
    for (const [method, facts] of Object.entries(revision.methods)) {
      const row = methods.get(method) ?? REVISIONS.map(() => undefined)
      row[index] = facts
      methods.set(method, row)
    }
  }
  const asked = Object.keys(QUESTIONS)
  return table(
    ['method', 'kind', 'sent by', ...REVISIONS.map(({ id }) => id)],
    [...methods]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([method, row]) => {
        const facts = row.find((candidate) => candidate !== undefined)
        const marks = row.map((has, index) => {
          if (has) return 'yes'
          return REVISIONS[index]?.asks === 'by-result' && asked.includes(method) ? 'in results' : ''
        })
        return [code(method), facts?.kind ?? '', facts?.sentBy ?? '', ...marks]
      }),
  )
}

function featureTable() {
  const rows = Object.entries(
    /** @type {Record<string, import('../src/spec/index.ts').FeatureFacts>} */ (FEATURES),
  )
  return table(
    ['feature', 'where', 'what', 'since', 'until', 'a client without it gets'],
    rows.map(([name, { at, field, since, until, fallback }]) => [
      name,
      at.join(', '),
      code(field),
      since,
      until ?? '',
      FALLBACKS[fallback],
    ]),
  )
}

function preferenceTable() {
  return table(
    ['value', 'first request', 'aliases'],
    Object.entries(PREFERENCES).map(([value, { opens, aliases }]) => [code(value), opens, list(aliases)]),
  )
}

// --- errors ------------------------------------------------------------------------------------------------------

function exitTable() {
  const used = Object.entries(FAILURES)
  for (const [name, { exit }] of used)
    if (!(exit in EXITS)) throw new Error(`the exit code ${exit} of ${name} has no meaning`)
  return table(
    ['exit code', 'meaning', 'failures'],
    Object.entries(EXITS).map(([exit, meaning]) => [
      exit,
      meaning,
      used.flatMap(([name, facts]) => (String(facts.exit) === exit ? [link(name)] : [])).join(', ') || '–',
    ]),
  )
}

function failureTable() {
  return table(
    ['code', 'JSON-RPC', 'HTTP', 'exit', 'the same attempt later'],
    Object.entries(FAILURES).map(([name, { rpc, http, exit, retry }]) => [
      link(name),
      String(rpc),
      String(http),
      String(exit),
      retry === 'never' ? 'fails too' : 'may succeed',
    ]),
  )
}

/** @param {string} name */
function link(name) {
  return `[${name}](#${name.toLowerCase()})`
}
