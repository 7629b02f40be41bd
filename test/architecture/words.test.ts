// What the sources do not say: facts of a revision outside the tables, eras as flags, notes of the past or of work to come.
import { join, sep } from 'node:path'
import ts from 'typescript'
import { beforeAll, expect, test } from 'vitest'
import { ROOT } from './rooms.ts'
import { parse, parseSources } from './sources.ts'
import type { Source } from './sources.ts'
import {
  builtMethodNames,
  codeLines,
  eraFlags,
  methodNames,
  orderedRevisions,
  revisionDates,
  timeWords,
} from './words.ts'

const sources = parseSources('src')
const outsideSpec = sources.filter(({ path }) => !path.startsWith('src/spec/'))

/** A bound for a hang, not an assertion, in ms: a busy machine compiles slowly. */
const COMPILING = 180_000

let checked: { readonly files: readonly ts.SourceFile[]; readonly checker: ts.TypeChecker }

beforeAll(() => {
  checked = check(outsideSpec.map(({ path }) => join(ROOT, path)))
}, COMPILING)

test('a method has its name from spec', () => {
  expect(found(outsideSpec, methodNames)).toEqual([])
  expect(found(outsideSpec, builtMethodNames)).toEqual([])
})

test('a revision has its date from spec', () => {
  expect(found(outsideSpec, revisionDates)).toEqual([])
})

test('revisions are not put in order outside spec', () => {
  expect(checked.files.flatMap((file) => orderedRevisions(file, checked.checker))).toEqual([])
})

test('an era is never a flag', () => {
  expect(checked.files.flatMap((file) => eraFlags(file, checked.checker))).toEqual([])
})

test('comments speak of what is', () => {
  const all = ['src', 'test', 'scripts', 'examples', 'bench'].flatMap((folder) => parseSources(folder))
  expect(found(all, timeWords)).toEqual([])
})

test('files are short', () => {
  const long = sources
    .map(({ path, file }) => `${path}: ${codeLines(file)}`)
    .filter((line) => Number(line.split(': ')[1]) > 300)
  expect(long).toEqual([])
})

test('each of these is found where it stands', () => {
  const planted = `
    import { newest } from '../src/spec/index.ts'
    const call = { method: 'ping', question: 'initialize' }
    if (call.method === 'tools/call' || call.question === 'initialize') call.method = \`notifications/\${call.question}\`
    switch (call.method) { case 'initialize': }
    const rows = { 'tools/list': 1 }
    export const old = newest() < '2025-06-18'
    export const plain = 1 < 2
    // This is no longer so.
    export function drive(isModern: boolean, legacyId: string, options: { forLegacy?: boolean }) { /* TODO */ }
  `
  const path = join(ROOT, 'test', 'planted.ts').split(sep).join('/')
  const { files, checker } = check([path], { [path]: planted })
  const [file] = files
  if (file === undefined) throw new Error('the planted file was not compiled')
  const lines = (places: readonly string[]): string[] =>
    places.map((place) => place.replace(/^.*planted\.ts:/, ''))
  expect(lines(methodNames(file))).toEqual(['3: ping', '4: tools/call', '5: initialize'])
  expect(lines(builtMethodNames(file))).toEqual(['4: notifications/'])
  expect(lines(revisionDates(file))).toEqual(['7: 2025-06-18'])
  expect(lines(orderedRevisions(file, checker))).toEqual([`7: newest() < '2025-06-18'`])
  expect(lines(eraFlags(file, checker))).toEqual(['10: isModern', '10: forLegacy'])
  expect(lines(timeWords(file))).toEqual(['9: // This is no longer so.', '10: /* TODO */'])
  expect(codeLines(file)).toBe(8)
})

function found(some: readonly Source[], find: (file: ts.SourceFile) => string[]): string[] {
  return some.flatMap(({ file }) => find(file))
}

/** Compiles files with the project's options; `planted` holds the text of those that are not on disk. */
function check(paths: readonly string[], planted: Readonly<Record<string, string>> = {}): typeof checked {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (name) => ts.sys.readFile(name))
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
  const host = ts.createCompilerHost(options, true)
  const program = ts.createProgram(paths, options, {
    ...host,
    fileExists: (path) => path in planted || host.fileExists(path),
    getSourceFile: (path, target) => {
      const text = planted[path]
      return text === undefined ? host.getSourceFile(path, target) : parse(path, text)
    },
  })
  const files = paths.flatMap((path) => program.getSourceFile(path) ?? [])
  return { files, checker: program.getTypeChecker() }
}
