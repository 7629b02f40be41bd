// The rules are worth only what they catch: each kind of violation is planted in a copy of the tree, and its rule must go red.
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cruise, CRUISING, readRooms, ROOT, sourcesOn, upwardIn } from './rooms.ts'
import type { Cruise } from './rooms.ts'

interface Plant {
  readonly name: string
  readonly file: string
  readonly code: string
  /** The rule that must name the file, or undefined where the import is allowed. */
  readonly rule: string | undefined
}

/** Nothing imports what is planted, so no plant can hide another and all are cruised at once. */
const PLANTS: readonly Plant[] = (
  [
    [
      'a value from above',
      'wire',
      `import { Pool } from '../pool/index.ts'\nexport const x = Pool`,
      'wire-imports',
    ],
    [
      'a type from above',
      'wire',
      `import type { Gateway } from '../gateway/index.ts'\nexport type X = Gateway`,
      'wire-imports',
    ],
    [
      'an inline type from above',
      'wire',
      `export type X = typeof import('../gateway/index.ts')`,
      'wire-imports',
    ],
    [
      'a dynamic import from above',
      'spec',
      `export const x = () => import('../http/index.ts')`,
      'spec-imports',
    ],
    ['a re-export from above', 'spec', `export { listen } from '../http/index.ts'`, 'spec-imports'],
    [
      'a sibling: era of transport',
      'era',
      `export { createDialer } from '../transport/index.ts'`,
      'era-imports',
    ],
    [
      'a sibling: transport of era',
      'transport',
      `export { createProbe } from '../era/index.ts'`,
      'transport-imports',
    ],
    ['pool of transport', 'pool', `export { createDialer } from '../transport/index.ts'`, 'pool-imports'],
    [
      'endpoint of gateway',
      'endpoint',
      `export { createGateway } from '../gateway/index.ts'`,
      'endpoint-imports',
    ],
    [
      'gateway of endpoint',
      'gateway',
      `export { HttpEndpoint } from '../endpoint/index.ts'`,
      'gateway-imports',
    ],
    ['http of transport', 'http', `export { createDialer } from '../transport/index.ts'`, 'http-imports'],
    ['Node in a pure room', 'wire', `import fs from 'node:fs'\nexport const x = typeof fs`, 'wire-no-node'],
    ['Node timers in the pool', 'pool', `export { setTimeout } from 'node:timers/promises'`, 'pool-no-node'],
    [
      'Node without its prefix',
      'gateway',
      `import path from 'path'\nexport const x = path.sep`,
      'gateway-no-node',
    ],
    [
      'the package of another room',
      'http',
      `import { Command } from 'commander'\nexport const x = Command`,
      'http-npm',
    ],
    [
      'a package for development',
      'era',
      `import ts from 'typescript'\nexport const x = ts.version`,
      'era-npm',
    ],
    [
      'a package that is not installed',
      'era',
      `import { x } from 'not-installed-anywhere'\nexport const y = x`,
      'era-npm',
    ],
    ['past a front door', 'pool', `export { eraOf } from '../spec/derived.ts'`, 'front-door'],
    [
      'a type past a front door',
      'pool',
      `import type { Era } from '../spec/facts.ts'\nexport type X = Era`,
      'front-door',
    ],
    ['a folder that is no room', 'utils', `export { clip } from '../base/index.ts'`, 'known-room'],
    ['a test', 'base', `export * from '../../test/planted.ts'`, 'src-never-sees-tests'],
    ['itself by way of another', 'config', `export * from './planted-other.ts'`, 'no-cycle'],
    ['what it may', 'pool', `export { eraOf } from '../spec/index.ts'`, undefined],
    ['its own package', 'http', `import fastify from 'fastify'\nexport const x = fastify`, undefined],
    [
      'Node where there is I/O',
      'transport',
      `import fs from 'node:fs'\nexport const x = typeof fs`,
      undefined,
    ],
  ] as const
).map(([name, room, code, rule]) => ({ name, code, rule, file: `src/${room}/${fileNameOf(name).slice(2)}` }))

/** What planted files import that does not exist otherwise. */
const PROPS: Readonly<Record<string, string>> = {
  'test/planted.ts': 'export const x = 1\n',
  'src/config/planted-other.ts': `export * from '${fileNameOf('itself by way of another')}'\n`,
}

const GLOBALS = [
  'process',
  'Buffer',
  'setTimeout',
  'setInterval',
  'queueMicrotask',
  'fetch',
  'console',
  'AbortController',
  'performance',
  'crypto',
  'window',
]

let root: string
let cruised: Cruise

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'mcpx-rooms-'))
  const copied = [
    'src',
    'architecture',
    '.dependency-cruiser.mjs',
    'tsconfig.json',
    'tsconfig.pure.json',
    'package.json',
  ]
  for (const name of copied) cpSync(join(ROOT, name), join(root, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'), 'junction')
  for (const { file, code } of PLANTS) write(file, `${code}\n`)
  for (const [file, code] of Object.entries(PROPS)) write(file, code)
  for (const { name, node } of readRooms()) {
    if (!node)
      write(
        globalsFile(name),
        GLOBALS.map((global) => `export type ${global}_ = typeof ${global}\n`).join(''),
      )
  }
  cruised = cruise(root)
}, CRUISING)

afterAll(() => {
  // The link goes first: what it points at is not ours to remove.
  rmSync(join(root, 'node_modules'))
  rmSync(root, { recursive: true })
})

test.each(PLANTS.filter(({ rule }) => rule !== undefined))('$rule catches: $name', ({ file, rule }) => {
  expect(cruised.violations).toContain(`${rule}: ${file}`)
})

test('what is allowed is not caught, and no plant breaks another rule than its own', () => {
  const expected = PLANTS.flatMap(({ file, rule }) => (rule === undefined ? [] : [`${rule}: ${file}`]))
  const planted = cruised.violations.filter((violation) =>
    PLANTS.some(({ file }) => violation.endsWith(file)),
  )
  expect(planted).toEqual(expected.sort())
})

test('the planted files were read too', () => {
  expect(cruised.read).toEqual(sourcesOn(root, 'src'))
})

test('a table that points up is caught', () => {
  const rooms = readRooms().map((room) =>
    room.name === 'wire' ? { ...room, may: [...room.may, 'pool'] } : room,
  )
  expect(upwardIn(rooms)).toEqual(['wire -> pool'])
})

test('the globals of Node and of browsers are unknown in the pure rooms', () => {
  const path = join(root, 'tsconfig.pure.json')
  const { fileNames, options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(path, (name) => ts.sys.readFile(name)).config,
    ts.sys,
    root,
  )
  // Plants that import Node would bring its globals into the whole program.
  const clean = fileNames.filter((name) => !PLANTS.some(({ file }) => name.endsWith(file)))
  const program = ts.createProgram(clean, options)
  for (const { name } of readRooms().filter(({ node }) => !node)) {
    const source = program.getSourceFile(join(root, globalsFile(name)))
    const unknown = program
      .getSemanticDiagnostics(source)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
    expect(source, `${name} is not compiled by tsconfig.pure.json`).toBeDefined()
    for (const global of GLOBALS) expect(unknown.join('\n'), name).toContain(`'${global}'`)
  }
})

function fileNameOf(name: string): string {
  return `./planted-${name.toLowerCase().replaceAll(/[^a-z]+/g, '-')}.ts`
}

function globalsFile(room: string): string {
  return `src/${room}/planted-globals.ts`
}

function write(file: string, code: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), code)
}
