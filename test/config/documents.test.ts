import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import {
  configJsonSchema,
  configMarkdown,
  flagName,
  PREFERENCES,
  SETTING_PATHS,
  SETTINGS,
  variableName,
} from '../../src/config/index.ts'

const schema = configJsonSchema()
const validate = new Ajv2020({ strict: false }).compile(schema)

test('the schema is plain JSON and valid', () => {
  expect(JSON.parse(JSON.stringify(schema))).toEqual(schema)
  expect(new Ajv2020({ strict: false }).validateSchema(schema)).toBe(true)
})

test.each(SETTING_PATHS)('the schema allows the default of %s and no object in its place', (path) => {
  const wrap = (value: unknown) =>
    path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
  expect(validate(wrap(SETTINGS[path].default))).toBe(true)
  expect(validate(wrap({}))).toBe(false)
})

test.each([
  [{ upstream: { probeTimeout: '2s', protocol: 'modern' } }, true],
  [{ upstream: { probeTimeout: 'soon' } }, false],
  [{ http: { maxBody: '4MiB' } }, true],
  [{ http: { maxBody: '4 miles' } }, false],
  [{ upstream: { protocol: 'newest' } }, false],
  [{ servers: { 'a/b': { command: 'x' } } }, false],
])('the schema judges %j: %s', (file, valid) => {
  expect(validate(file)).toBe(valid)
})

test('the page has a row for every setting and preference', () => {
  const lines = configMarkdown().split('\n')
  for (const path of SETTING_PATHS) {
    const row = lines.find((line) => line.startsWith(`| \`${path}\` |`)) ?? ''
    for (const part of [flagName(path), variableName(path), SETTINGS[path].description])
      expect(row).toContain(part)
    expect(row.replaceAll('\\|', '').split('|')).toHaveLength(9)
  }
  for (const [value, { aliases }] of Object.entries(PREFERENCES)) {
    const row = lines.find((line) => line.startsWith(`| \`${value}\` |`)) ?? ''
    for (const alias of aliases) expect(row).toContain(`\`${alias}\``)
  }
  expect(lines).toContain(
    '| `upstream.probeTimeout` | duration | `2s` | `--upstream-probe-timeout` | `MCPX_UPSTREAM_PROBE_TIMEOUT` | yes | ' +
      'How long a stdio server may be silent on the probe before the other era is tried beside it. |',
  )
})
