// `mcpx add` and `mcpx remove`, and the edits of JSON that they and the hosts' files share.
import { lstatSync, readFileSync, statSync, symlinkSync, writeFileSync, chmodSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withoutValue, withValue } from '../../src/cli/hosts/json-text.ts'
import { fixturePath, openWorkspace } from '../peers/workspace.ts'

const COMMENTED = [
  '\uFEFF// mine',
  '{',
  '\t"mcpServers": {',
  '\t\t// the first',
  '\t\t"one": { "command": "node" }, // of all',
  '\t\t/* the second */',
  '\t\t"two": { "url": "http://127.0.0.1:1/mcp" }, // ends in a comma',
  '\t},',
  '\t"log": { "level": "debug" }, // loud',
  '}',
  '',
].join('\r\n')

test('a server that is added and removed leaves the file as it was, mark and line ends too', async () => {
  await using workspace = await openWorkspace(COMMENTED)
  const added = await workspace.run(['add', 'new', '--env', 'A=b=c', '--', 'npx', '-y', 'it'])
  expect(added).toMatchObject({ code: 0, stderr: '' })
  const text = readFileSync(workspace.config, 'utf8')
  expect(text).toContain('\t\t"new": {\r\n\t\t\t"command": "npx",\r\n')
  expect(text).toContain('"A": "b=c"')
  expect(text.startsWith('\uFEFF// mine')).toBe(true)
  expect(text).not.toMatch(/[^\r]\n/)
  for (const comment of COMMENTED.match(/\/\/ .*|\/\* .* \*\//g) ?? []) expect(text).toContain(comment.trim())
  expect((await workspace.run(['remove', 'new'])).code).toBe(0)
  expect(readFileSync(workspace.config, 'utf8')).toBe(COMMENTED)
})

test('what was added runs, and a file is made where there is none', async () => {
  await using workspace = await openWorkspace()
  await workspace.run([
    'add',
    'one',
    '--protocol',
    'force-initialize',
    '--',
    process.execPath,
    fixturePath('legacy-stdio'),
  ])
  const { mcpServers } = JSON.parse(readFileSync(workspace.config, 'utf8')) as { mcpServers: object }
  expect(mcpServers).toMatchObject({ one: { protocol: 'force-initialize' } })
  expect(await workspace.run(['tools', 'one'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('echo'),
  })
})

test.skipIf(process.platform === 'win32')('a link stays one, and permissions are kept', async () => {
  await using workspace = await openWorkspace()
  writeFileSync(workspace.file('real.json'), '{}\n')
  chmodSync(workspace.file('real.json'), 0o640)
  symlinkSync(workspace.file('real.json'), workspace.config)
  const { code } = await workspace.run(['add', 'a', 'https://a.example/mcp', '--header', 'X-Key: 1'])
  expect(code).toBe(0)
  expect(lstatSync(workspace.config).isSymbolicLink()).toBe(true)
  expect(statSync(workspace.file('real.json')).mode & 0o777).toBe(0o640)
  expect(JSON.parse(readFileSync(workspace.file('real.json'), 'utf8'))).toEqual({
    mcpServers: { a: { url: 'https://a.example/mcp', headers: { 'X-Key': '1' } } },
  })
})

const REFUSED = [
  { args: ['add', 'one', '--', 'node'], code: 78, says: /There is a server "one" in .* already\..*--force/ },
  { args: ['add', 'a/b', '--', 'node'], code: 64, says: /Nothing was written.*has no slash/s },
  { args: ['add', 'b', 'https://b.example', '--env', 'A=1'], code: 64, says: /--env is for a command/ },
  { args: ['add', 'b', '--header', 'A=1', '--', 'node'], code: 64, says: /--header is for a URL/ },
  { args: ['add', 'b', '--env', 'secret', '--', 'node'], code: 64, says: /Give env as name=value\.\n$/ },
  { args: ['add', 'b', '--protocol', 'new', '--', 'node'], code: 64, says: /protocol: "new" is not allowed/ },
  { args: ['remove', 'oen'], code: 64, says: /There is no server "oen" in .* Did you mean "one"\?/ },
]

test('what is asked wrongly is refused and changes nothing', async () => {
  await using workspace = await openWorkspace(COMMENTED)
  for (const { args, code, says } of REFUSED)
    expect(await workspace.run(args)).toEqual({ code, stdout: '', stderr: expect.stringMatching(says) })
  expect(readFileSync(workspace.config, 'utf8')).toBe(COMMENTED)
  expect((await workspace.run(['add', 'one', '--force', '--', 'deno'])).code).toBe(0)
  expect(readFileSync(workspace.config, 'utf8')).toContain('"deno"')
})

const place = (key: string) => ({ path: 'x.json', keys: ['s', key] })

const CUTS = [
  { of: 'the last', key: 'b', text: '{"s": {"a": 1, "b": 2}}', left: '{"s": {"a": 1}}' },
  { of: 'the first', key: 'a', text: '{"s": {"a": 1, "b": 2}}', left: '{"s": {"b": 2}}' },
  { of: 'the only one', key: 'a', text: '{"s": {"a": 1}}', left: '{"s": {}}' },
  {
    of: 'the last, whose neighbour has a comment',
    key: 'b',
    text: '{"s": {\n  "a": 1, // one\n  "b": 2 // two\n  // end\n}}',
    left: '{"s": {\n  "a": 1 // one\n  // end\n}}',
  },
  {
    of: 'the first, whose neighbour has a comment',
    key: 'a',
    text: '{"s": {\n  "a": 1, // one\n  // about b\n  "b": 2,\n}}',
    left: '{"s": {\n  // about b\n  "b": 2,\n}}',
  },
]

test.each(CUTS)('$of is taken out as a person would', ({ key, text, left }) => {
  expect(withoutValue(text, place(key))).toBe(left)
})

const PUTS = [
  { into: 'an empty text', text: '', now: '{\n  "s": {\n    "n": {\n      "x": 1\n    }\n  }\n}\n' },
  { into: 'one line', text: '{"s":{"a":1}}', now: '{"s":{"a":1,"n":{"x":1}}}' },
  {
    into: 'lines whose last has a comment',
    text: '{\n    "s": {\n        "a": 1 // one\n        // end\n    }\n}',
    now: '{\n    "s": {\n        "a": 1, // one\n        "n": {\n            "x": 1\n        }\n        // end\n    }\n}',
  },
  {
    into: 'an object that holds a comment only',
    text: '{\n  "s": { // none yet\n  }\n}',
    now: '{\n  "s": {\n    "n": {\n      "x": 1\n    } // none yet\n  }\n}',
  },
]

test.each(PUTS)('$into gets a value as a person would write it', ({ text, now }) => {
  expect(withValue(text, { x: 1 }, place('n'))).toBe(now)
})

test('a key that stands twice is not touched', () => {
  const twice = '{"s": {"a": 1, "a": 2}}'
  expect(() => withValue(twice, 3, place('a'))).toThrow(/given twice/)
  expect(() => withoutValue(twice, place('a'))).toThrow(/given twice/)
})
