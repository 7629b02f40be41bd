// Every failure that mcpx declares can happen, and the documentation says what to do about it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { FAILURES } from '../../src/base/index.ts'
import type { FailureCode } from '../../src/base/index.ts'
import { ROOT } from './rooms.ts'
import { nodesOf, parse, parseSources } from './sources.ts'

const CODES = Object.keys(FAILURES) as readonly FailureCode[]
const page = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8')

test('every code is thrown somewhere', () => {
  const thrown = new Set(parseSources('src').flatMap(({ file }) => codesMade(file)))
  expect(CODES.filter((code) => !thrown.has(code))).toEqual([])
})

test('to compare with a code is not to throw it', () => {
  const text = `
    if (error.code === 'CANCELLED') throw new McpxError('USAGE', 'x')
    switch (error.code) { case 'INTERNAL': }
    const [code] = broken ? (['TOOL_UNKNOWN'] as const) : []
    const rows = { NAME_CLASH: 1 }`
  expect(codesMade(parse('planted.ts', text))).toEqual(['USAGE', 'TOOL_UNKNOWN'])
})

test.each(CODES)('docs/errors.md says what %s means and what to do', (code) => {
  expect(adviceOn(code).match(/[.!](\s|$)/g)?.length ?? 0, `## ${code} needs a sentence`).toBeGreaterThan(0)
})

test('docs/errors.md has no advice on a code that is not declared', () => {
  const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading)
  expect(headings).toEqual(CODES)
})

test.each([...new Set([0, 1, ...CODES.map((code) => FAILURES[code].exit)])])(
  'exit code %i is documented',
  (exit) => {
    expect(page).toMatch(new RegExp(`^\\| ${exit} \\| \\w`, 'm'))
  },
)

/** The text below a code's heading. */
function adviceOn(code: string): string {
  const [, after = ''] = page.split(`\n### ${code}\n`)
  return after.split(/^#/m)[0]?.trim() ?? ''
}

/** Codes that stand in a file as values, unless something is compared with them. */
function codesMade(file: ts.SourceFile): string[] {
  return nodesOf(file)
    .filter((node) => ts.isStringLiteralLike(node))
    .filter(
      ({ text, parent }) => text in FAILURES && !ts.isBinaryExpression(parent) && !ts.isCaseClause(parent),
    )
    .map(({ text }) => text)
}
