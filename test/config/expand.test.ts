import { expect, test } from 'vitest'
import { canonicalDefinition, expandServer, parseConfigFile } from '../../src/config/index.ts'
import type { ExpansionContext, ReadyTarget, ServerDefinition } from '../../src/config/index.ts'
import type { Target } from '../../src/wire/channel.ts'

const CONTEXT: ExpansionContext = {
  env: {
    TOKEN: 'hunter2',
    EMPTY: '',
    NESTED: '${TOKEN}',
    LINE: 'hunter2\n',
    BASE: 'https://example.com',
    'ProgramFiles(x86)': 'P',
  },
  configDir: '/work',
  workspaceFolder: '/home/ann/project',
  userHome: '/home/ann',
  separator: '/',
}

function server(keys: Record<string, unknown>, name = 'one'): ServerDefinition {
  const text = JSON.stringify({ mcpServers: { [name]: keys } })
  const definition = parseConfigFile(text, { path: 'mcpx.json' }).servers.get(name)
  if (definition === undefined) throw new Error(text)
  return definition
}

function expanded(keys: Record<string, unknown>, context: Partial<ExpansionContext> = {}): ReadyTarget {
  const outcome = expandServer(server(keys), { ...CONTEXT, ...context })
  if ('error' in outcome) throw outcome.error
  return outcome.ok
}

const argOf = (arg: string, context: Partial<ExpansionContext> = {}): string | undefined => {
  const target = expanded({ command: 'x', args: [arg] }, context)
  return target.kind === 'stdio' ? target.args[0] : undefined
}

test.each([
  ['${TOKEN}', 'hunter2'],
  ['${env:TOKEN}', 'hunter2'],
  ['a${TOKEN}b${TOKEN}', 'ahunter2bhunter2'],
  ['${EMPTY}', ''],
  ['${EMPTY:-x}', ''],
  ['${MISSING:-x y}', 'x y'],
  ['${env:MISSING:-x}', 'x'],
  ['${MISSING:-}', ''],
  ['${MISSING:-a:-b}', 'a:-b'],
  ['${NESTED}', '${TOKEN}'],
  ['${ProgramFiles(x86)}', 'P'],
  ['${workspaceFolder}${/}src', '/home/ann/project/src'],
  ['${workspaceFolderBasename}', 'project'],
  ['${userHome}', '/home/ann'],
  ['$TOKEN %TOKEN% ~ $$', '$TOKEN %TOKEN% ~ $$'],
  ['${TOKEN', '${TOKEN'],
])('%s becomes %s', (text, value) => {
  expect(argOf(text)).toBe(value)
})

test('the separator is the platform’s', () => {
  expect(argOf('a${/}b', { separator: '\\' })).toBe('a\\b')
})

test('a stdio server is ready in every field', () => {
  const keys = { command: '${TOKEN}', args: ['${TOKEN}'], env: { A: '${TOKEN}', B: 'b' }, cwd: '${TOKEN}' }
  const target: Target = expanded(keys)
  expect(target).toEqual({
    kind: 'stdio',
    command: 'hunter2',
    args: ['hunter2'],
    env: { A: 'hunter2', B: 'b' },
    cwd: '/work/hunter2',
    transportHint: undefined,
  })
})

test('an HTTP server is ready in every field', () => {
  const keys = { type: 'sse', url: '${BASE}/mcp', headers: { Authorization: 'Bearer ${env:TOKEN}' } }
  const target: Target = expanded(keys)
  expect(target).toEqual({
    kind: 'http',
    url: 'https://example.com/mcp',
    headers: { Authorization: 'Bearer hunter2' },
    transportHint: 'http+sse',
  })
})

test.each([
  ['/', '/srv', '/work', '/srv'],
  ['/', '.', '/work', '/work'],
  ['/', './a', '/work', '/work/a'],
  ['/', '../a', '/work', '/work/../a'],
  ['/', 'a', '/', '/a'],
  ['/', '~', '/work', '/work/~'],
  ['/', 'C:\\a', '/work', '/work/C:\\a'],
  ['\\', 'C:\\a', 'D:\\work', 'C:\\a'],
  ['\\', 'a', 'D:\\work', 'D:\\work\\a'],
  ['\\', '.\\a', 'D:\\work\\', 'D:\\work\\a'],
] as const)('with %s, cwd %s from %s is %s', (...row) => {
  const [separator, cwd, configDir, resolved] = row
  expect(expanded({ command: 'x', cwd }, { separator, configDir })).toMatchObject({ cwd: resolved })
})

test('a process without cwd starts in the workspace folder, if there is one', () => {
  expect(expanded({ command: 'x' })).toMatchObject({ cwd: '/home/ann/project' })
  expect(expanded({ command: 'x' }, { workspaceFolder: undefined })).toMatchObject({ cwd: undefined })
})

test('env wins over envFile, whose lines are read as they stand', () => {
  const lines = '# note\r\nA=1\nexport B = "two words" \nC=\'$TOKEN\'\n\nD=a=b\nE=\nnonsense\nF=${TOKEN}\n'
  const files = new Map([['/work/.env', lines]])
  const keys = { command: 'x', envFile: '.env', env: { A: '${TOKEN}' } }
  expect(expanded(keys, { readFile: (path) => files.get(path) })).toMatchObject({
    env: { A: 'hunter2', B: 'two words', C: '$TOKEN', D: 'a=b', E: '', F: '${TOKEN}' },
  })
})

test.each([
  [{ command: 'x', args: ['${MISSING}'] }, 'the environment variable MISSING is not set (in args[0])'],
  [{ command: 'x', env: { A: '${env:MISSING}' } }, 'the environment variable MISSING is not set (in env.A)'],
  [{ url: 'https://a.example/${MISSING}' }, 'the environment variable MISSING is not set (in url)'],
  [{ url: 'https://a.example', headers: { A: '${__proto__}' } }, 'variable __proto__ is not set'],
  [{ command: 'x', args: ['${input:key}'] }, '${input:key} is for a host that asks the user'],
  [{ command: 'x', args: ['${config:a.b}'] }, '${config:a.b} is not a variable that mcpx knows'],
  [{ command: 'x', args: ['${}'] }, '${} is not a variable that mcpx knows'],
  [{ command: 'x', args: ['${A:-${TOKEN}}'] }, 'the default of A holds another variable'],
  [{ command: '${EMPTY}' }, 'command is empty once expanded'],
  [{ url: '${EMPTY}' }, 'url is not a URL once expanded'],
  [{ url: '${TOKEN}:x' }, 'url begins with neither http: nor https: once expanded'],
  [{ url: 'https://a.example', headers: { A: '${LINE}' } }, 'headers.A holds a line break'],
  [{ command: 'x', envFile: '.env' }, 'its envFile cannot be read'],
])('%j fails that server: %s', (keys, message) => {
  const outcome = expandServer(server(keys, 'my server'), CONTEXT)
  expect(outcome).toEqual({
    error: expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/^Server "my server" cannot start: /) as string,
      data: { server: 'my server', problems: [expect.stringContaining(message)] },
    }) as unknown,
  })
})

test('all that is missing is named at once', () => {
  const outcome = expandServer(server({ command: '${A}', args: ['${B}'], cwd: '${userHome}' }), {
    ...CONTEXT,
    userHome: undefined,
  })
  expect('error' in outcome && outcome.error.message).toMatch(/variable A .*variable B .*home folder/)
})

test('the canonical definition holds what the file says of the process and nothing else', () => {
  const process = { command: 'x', args: ['${TOKEN}'], env: { B: '2', A: '1' }, cwd: '.' }
  const leased = {
    protocol: 'legacy',
    callTimeout: 1,
    tools: [],
    prefix: 'p',
    scope: 'session',
    start: 'eager',
    disabled: true,
  }
  expect(canonicalDefinition(server({ ...leased, ...process }, 'other'))).toBe(
    '{"args":["${TOKEN}"],"command":"x","cwd":".","env":{"A":"1","B":"2"},"transport":"stdio"}',
  )
  expect(
    canonicalDefinition(server({ headers: { B: '${TOKEN}', A: '1' }, httpUrl: 'https://a.example' })),
  ).toBe('{"headers":{"A":"1","B":"${TOKEN}"},"transport":"http","url":"https://a.example"}')
})

test('every part of the process changes the canonical definition', () => {
  const variants = [
    { command: 'x' },
    { command: 'y' },
    { command: 'x', args: ['a'] },
    { command: 'x', env: { A: '1' } },
    { command: 'x', cwd: 'a' },
    { command: 'x', envFile: 'a' },
    { url: 'https://a.example' },
    { url: 'https://b.example' },
    { url: 'https://a.example', type: 'sse' },
    { url: 'https://a.example', type: 'http' },
    { url: 'https://a.example', headers: { A: '1' } },
  ]
  expect(new Set(variants.map((keys) => canonicalDefinition(server(keys)))).size).toBe(variants.length)
})
