// The generated parts of docs/ say what the tables say. Needs the build, as all tests that start mcpx do.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROOT } from './rooms.ts'

let copy: string

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'mcpx-docs-'))
  cpSync(join(ROOT, 'docs'), copy, { recursive: true })
})

afterAll(() => rmSync(copy, { recursive: true }))

test('no page is stale', () => {
  expect(docs('--check')).toEqual({ status: 0, stderr: '' })
})

test('a page that was changed by hand between its markers is found, and made anew', () => {
  const page = join(copy, 'errors.md')
  const text = readFileSync(page, 'utf8')
  writeFileSync(page, text.replace('| 502 |', '| 500 |'))
  expect(docs('--check', '--docs', copy)).toEqual({
    status: 1,
    stderr: 'docs/errors.md is stale: npm run docs\n',
  })
  expect(docs('--docs', copy).status).toBe(0)
  expect(readFileSync(page, 'utf8')).toBe(text)
})

test('relative links of the documents lead somewhere', () => {
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    ...markdownIn('docs'),
    ...markdownIn('docs/decisions'),
  ]
  const broken = pages.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link = '']) =>
      join(ROOT, page, '..', link),
    )
    return links.filter((link) => !existsSync(link)).map((link) => `${page}: ${link}`)
  })
  expect(broken).toEqual([])
})

function markdownIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
}

function docs(...args: readonly string[]): { status: number | null; stderr: string } {
  const command = join(ROOT, 'scripts', 'docs.mjs')
  const { status, stderr } = spawnSync(process.execPath, [command, ...args], { cwd: ROOT, encoding: 'utf8' })
  return { status, stderr }
}
