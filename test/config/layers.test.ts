import { expect, test } from 'vitest'
import {
  createSettings,
  flagName,
  parseConfigFile,
  SETTING_PATHS,
  SETTINGS,
  variableName,
} from '../../src/config/index.ts'
import type { Setting, SettingChange } from '../../src/config/index.ts'

const file = (text: string) => parseConfigFile(text, { path: '/etc/mcpx.json' })

const LAYERS = ['default', 'file', 'environment', 'flag', 'runtime'] as const

/** Each layer says another thing of one setting. */
function withLayers(layers: readonly string[]) {
  const settings = createSettings({
    ...(layers.includes('file') ? { file: file('{"upstream":{"probeTimeout":"1s"}}') } : {}),
    env: layers.includes('environment') ? { MCPX_UPSTREAM_PROBE_TIMEOUT: '2s' } : {},
    flags: layers.includes('flag') ? { 'upstream.probeTimeout': '3s' } : {},
  })
  if (layers.includes('runtime')) settings.set('upstream.probeTimeout', '4s')
  return settings
}

const SAYS = {
  runtime: { value: 4_000, source: 'runtime', detail: undefined },
  flag: { value: 3_000, source: 'flag', detail: '--upstream-probe-timeout' },
  environment: { value: 2_000, source: 'environment', detail: 'MCPX_UPSTREAM_PROBE_TIMEOUT' },
  file: { value: 1_000, source: 'file', detail: '/etc/mcpx.json' },
  default: { value: 2_000, source: 'default', detail: undefined },
}

const subsets = [...Array.from({ length: 16 }).keys()].map((bits) =>
  LAYERS.filter((layer, index) => layer === 'default' || (bits & (1 << (index - 1))) !== 0),
)

test.each(subsets)('of %s %s %s %s %s the highest counts and displaces the rest', (...layers) => {
  const [top, ...displaced] = layers.filter((layer) => layer !== undefined).toReversed()
  const settings = withLayers(layers)
  expect(settings.get('upstream.probeTimeout')).toBe(SAYS[top ?? 'default'].value)
  expect(settings.explain('upstream.probeTimeout')).toEqual({
    ...SAYS[top ?? 'default'],
    displaced: displaced.map((layer) => SAYS[layer]),
  })
})

test('values have the types of the registry', () => {
  const settings = createSettings()
  const timeout: number = settings.get('upstream.probeTimeout')
  const naming: 'prefix' | 'none' = settings.get('naming')
  const hosts: readonly string[] = settings.get('http.allowedHosts')
  // @ts-expect-error -- a duration is not text
  const wrong: string = settings.get('upstream.probeTimeout')
  expect([timeout, naming, hosts, wrong]).toEqual([2_000, 'prefix', [], 2_000])
})

test('unset gives the layer below its say again', () => {
  const settings = withLayers(LAYERS)
  settings.unset('upstream.probeTimeout')
  expect(settings.explain('upstream.probeTimeout').source).toBe('flag')
  settings.unset('upstream.probeTimeout')
  expect(settings.get('upstream.probeTimeout')).toBe(3_000)
})

test.each([
  ['MCPX_HTTP_PORT', '8080', 'http.port', 8_080],
  ['MCPX_UPSTREAM_ERA_CACHE', 'off', 'upstream.eraCache', false],
  ['MCPX_UPSTREAM_ERA_CACHE', '1', 'upstream.eraCache', true],
  ['MCPX_HTTP_MAX_BODY', '1MiB', 'http.maxBody', 1_048_576],
  ['MCPX_HTTP_ALLOWED_HOSTS', 'a.example, b.example,', 'http.allowedHosts', ['a.example', 'b.example']],
  ['MCPX_LOG_LEVEL', 'Debug', 'log.level', 'debug'],
  ['MCPX_HTTP_PORT', '', 'http.port', 6_279],
] as const)('%s=%s', (...row) => {
  const [name, text, path, value] = row
  expect(createSettings({ env: { [name]: text } }).get(path)).toEqual(value)
})

test('a flag that is not text is read as from a file', () => {
  const flags = { 'upstream.eraCache': false, 'http.allowedHosts': ['a', 'b'], 'http.port': undefined }
  const settings = createSettings({ flags })
  expect(settings.get('upstream.eraCache')).toBe(false)
  expect(settings.get('http.allowedHosts')).toEqual(['a', 'b'])
  expect(settings.explain('http.port').source).toBe('default')
})

test('every variable and flag that is not allowed is named', () => {
  const env = { MCPX_HTTP_PORT: '70000', MCPX_UPSTREAM_PROTOCOL: 'newest', MCPX_UPSTREAM_ERA_CACHE: 'maybe' }
  const flags = { 'upstream.probeTimeout': 'soon', naming: 5 }
  expect(() => createSettings({ env, flags })).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(
        /^MCPX_UPSTREAM_PROTOCOL: "newest" .*follow\nMCPX_UPSTREAM_ERA_CACHE: "maybe" .*\nMCPX_HTTP_PORT: "70000" .*65535\n--upstream-probe-timeout: "soon" .*\n--naming: 5 .*prefix, none$/,
      ) as string,
      data: { problems: expect.arrayContaining([expect.objectContaining({ path: 'http.port' })]) as unknown },
    }),
  )
})

test.each([
  ['upstream.probeTimout', 1, 'did you mean "upstream.probeTimeout"?'],
  ['__proto__', 1, 'There is no setting'],
  ['toString', 1, 'There is no setting'],
  ['upstream.probeTimeout', 'soon', 'upstream.probeTimeout: "soon" is not allowed'],
  ['upstream.probeTimeout', 0, 'from 1ms to 24d'],
  ['log.level', undefined, 'undefined is not allowed'],
  ['http.port', 8080, '--http-port'],
])('runtime refuses %s = %j', (path, value, message) => {
  const settings = createSettings()
  const before = settings.list()
  expect(() => settings.set(path, value)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) as string }),
  )
  expect(settings.list()).toEqual(before)
})

test('listeners hear of values that became other ones, and of nothing else', () => {
  const settings = createSettings({ env: { MCPX_UPSTREAM_PROTOCOL: 'legacy' } })
  const heard: SettingChange[] = []
  const stop = settings.onChange((change) => heard.push(change))
  settings.set('upstream.protocol', 'prefer-legacy')
  settings.set('upstream.protocol', 'follow')
  settings.set('http.allowedHosts', [])
  settings.unset('upstream.protocol')
  settings.unset('upstream.protocol')
  stop()
  settings.set('upstream.protocol', 'follow')
  expect(heard).toEqual([
    { path: 'upstream.protocol', value: 'follow', previous: 'prefer-initialize' },
    { path: 'upstream.protocol', value: 'prefer-initialize', previous: 'follow' },
  ])
})

test('a saved file changes hot settings at once and reports the cold ones', () => {
  const settings = createSettings({
    file: file('{"http":{"port":1},"upstream":{"protocol":"legacy"},"log":{"level":"warn"}}'),
  })
  const heard: SettingChange[] = []
  settings.onChange((change) => heard.push(change))
  const saved = file('{"http":{"port":2,"host":"::1"},"upstream":{"protocol":"modern"}}')
  expect(settings.replaceFile(saved)).toEqual(['http.port', 'http.host'])
  expect(settings.get('http.port')).toBe(1)
  expect(settings.get('http.host')).toBe('127.0.0.1')
  expect(heard.map(({ path, value }) => [path, value])).toEqual([
    ['upstream.protocol', 'prefer-discover'],
    ['log.level', 'info'],
  ])
  expect(settings.replaceFile(saved)).toEqual(['http.port', 'http.host'])
  expect(settings.replaceFile(file('{"http":{"port":1}}'))).toEqual([])
  expect(settings.replaceFile(undefined)).toEqual(['http.port'])
})

test('a cold setting that the file cannot reach needs no restart', () => {
  const settings = createSettings({ file: file('{"http":{"port":1}}'), flags: { 'http.port': '9' } })
  expect(settings.replaceFile(file('{"http":{"port":2}}'))).toEqual([])
})

test('the list has every setting with where it can be set', () => {
  const list = createSettings().list()
  expect(list.map(({ path }) => path)).toEqual(SETTING_PATHS)
  expect(list.find(({ path }) => path === 'http.maxBody')).toMatchObject({
    value: 4_194_304,
    text: '4MiB',
    source: 'default',
    flag: '--http-max-body',
    variable: 'MCPX_HTTP_MAX_BODY',
    hot: true,
    displaced: [],
  })
})

test.each(SETTING_PATHS)('%s: its default is allowed, and is read back from what is written', (path) => {
  const { type, default: value, description }: Setting<unknown> = SETTINGS[path]
  expect(type.read(value)).toEqual(value)
  expect(type.readText(type.write(value))).toEqual(value)
  expect(description).toMatch(/^[A-Z].*\.$/)
})

test('no two settings share a flag or a variable, nor take one that means something else', () => {
  const names = SETTING_PATHS.flatMap((path) => [flagName(path), variableName(path)])
  expect(
    new Set([...names, 'MCPX_CONFIG', 'MCPX_STATE_DIR', '--config', '--json', '--standalone', '--port']).size,
  ).toBe(names.length + 6)
})
