// What the OAuth client decides without asking anybody, as tables.
import { expect, test } from 'vitest'
import { readChallenge } from '../../src/oauth/challenge.ts'
import { authMethodOf, chooseClient, wantedAuthMethod } from '../../src/oauth/client.ts'
import type { AuthConfig } from '../../src/oauth/client.ts'
import {
  coversResource,
  mayAsk,
  resourceMetadataUrls,
  resourceOf,
  sameIssuer,
  serverMetadataUrls,
} from '../../src/oauth/places.ts'
import { emptyRecord, formatRecord, parseRecord, withGrant } from '../../src/oauth/record.ts'
import type { Grant, GrantRecord } from '../../src/oauth/record.ts'
import { selectScopes, stepUp } from '../../src/oauth/scopes.ts'

const challenges: [header: string | undefined, read: object][] = [
  [undefined, {}],
  ['Basic realm="x"', {}],
  ['Bearer', {}],
  ['Bearer scope="a b"', { scopes: ['a', 'b'] }],
  [
    'bearer error="invalid_token", resource_metadata="https://x/m"',
    { error: 'invalid_token', resourceMetadata: 'https://x/m' },
  ],
  ['Bearer resource_metadata=https://x/m, scope=a', { resourceMetadata: 'https://x/m', scopes: ['a'] }],
  ['Basic realm="Bearer", Bearer scope="a", DPoP algs="ES256"', { scopes: ['a'] }],
  ['DPoP scope="b", Bearer realm="say \\"hi\\", x", scope="a"', { scopes: ['a'] }],
  ['Bearer scope="a", scope="b"', { scopes: ['a'] }],
  ['Bearer scope=""', {}],
]

test.each(challenges)('reads %j', (header, read) => {
  const nothing = { error: undefined, scopes: undefined, resourceMetadata: undefined }
  expect(readChallenge(header)).toEqual({ ...nothing, ...read })
})

test('metadata is looked for where the specification says, in its order', () => {
  const well = 'https://x/.well-known'
  expect(resourceMetadataUrls('https://x/a/mcp', undefined)).toEqual([
    `${well}/oauth-protected-resource/a/mcp`,
    `${well}/oauth-protected-resource`,
  ])
  expect(resourceMetadataUrls('https://x/', undefined)).toEqual([`${well}/oauth-protected-resource`])
  expect(resourceMetadataUrls('https://x/mcp', 'https://y/m')).toEqual(['https://y/m'])
  expect(serverMetadataUrls('https://x')).toEqual([
    `${well}/oauth-authorization-server`,
    `${well}/openid-configuration`,
  ])
  expect(serverMetadataUrls('https://x/t/')).toEqual([
    `${well}/oauth-authorization-server/t`,
    `${well}/openid-configuration/t`,
    'https://x/t/.well-known/openid-configuration',
  ])
})

const covered: [resource: string, url: string, covers: boolean][] = [
  ['https://x/mcp', 'https://x/mcp', true],
  ['https://x', 'https://x/mcp', true],
  ['https://x/', 'https://x/mcp', true],
  ['https://X/mcp', 'https://x/mcp', true],
  ['https://x/mcp/', 'https://x/mcp', true],
  ['https://x/mc', 'https://x/mcp', false],
  ['https://x/mcp/one', 'https://x/mcp', false],
  ['http://x/mcp', 'https://x/mcp', false],
  ['https://x:444/mcp', 'https://x/mcp', false],
  ['https://evil/mcp', 'https://x/mcp', false],
  ['mcp', 'https://x/mcp', false],
]

test.each(covered)('metadata of %s may speak for %s: %s', (resource, url, covers) => {
  expect(coversResource(resource, url)).toBe(covers)
})

const issuers: [claimed: string, asked: string, same: boolean][] = [
  ['https://x', 'https://x', true],
  ['https://x/', 'https://x', true],
  ['https://x/t', 'https://x/t/', false],
  ['https://X', 'https://x/t', false],
  ['https://x:443/t', 'https://x/t', false],
  ['https://y', 'https://x', false],
]

test.each(issuers)('the issuer %s is that of %s: %s', (claimed, asked, same) => {
  expect(sameIssuer(claimed, asked)).toBe(same)
})

const askable: [url: string, server: string, may: boolean][] = [
  ['https://x', 'https://y/mcp', true],
  ['http://x', 'https://y/mcp', false],
  ['http://127.0.0.1:1', 'https://y/mcp', false],
  ['http://127.0.0.1:1', 'http://localhost:2/mcp', true],
  ['http://[::1]:1', 'http://127.0.0.1:2/mcp', true],
  ['http://127.0.0.1.evil.example', 'http://localhost:2/mcp', false],
  ['file:///etc/passwd', 'http://localhost:2/mcp', false],
  ['nothing', 'http://localhost:2/mcp', false],
]

test.each(askable)('%s may be asked for the sake of %s: %s', (url, server, may) => {
  expect(mayAsk(url, server)).toBe(may)
})

test('a server is named without fragment and without the slash of an empty path', () => {
  expect(['https://X/', 'https://x/mcp?a=1#b', 'https://x/mcp/'].map(resourceOf)).toEqual([
    'https://x',
    'https://x/mcp?a=1',
    'https://x/mcp/',
  ])
})

const NO_SCOPES = {
  ...{
    challenged: undefined,
    supported: undefined,
    configured: [],
    before: [],
    offered: undefined,
    lasting: true,
  },
}
const selections: [facts: Partial<Parameters<typeof selectScopes>[0]>, scopes: readonly string[]][] = [
  [{}, []],
  [{ supported: ['a', 'b'] }, ['a', 'b']],
  [{ challenged: ['c'], supported: ['a', 'b'] }, ['c']],
  [{ challenged: ['c'], before: ['a'] }, ['a', 'c']],
  [{ configured: ['d'], supported: ['a'] }, ['d']],
  [{ configured: ['d'], challenged: ['c'] }, ['d', 'c']],
  [{ supported: ['a'], offered: ['a', 'offline_access'] }, ['a', 'offline_access']],
  [{ supported: ['a'], offered: ['a', 'offline_access'], lasting: false }, ['a']],
  [{ supported: ['a'], offered: ['a'] }, ['a']],
  [{ offered: ['offline_access'] }, []],
]

test.each(selections)('of %j asks for %j', (facts, scopes) => {
  expect(selectScopes({ ...NO_SCOPES, ...facts })).toEqual(scopes)
})

test('more is asked for at most three times, and never what was asked for before', () => {
  expect(stepUp(['b'], ['a'], 0)).toEqual({ scopes: ['a', 'b'] })
  expect(stepUp(['a'], ['a'], 0)).toEqual({ hopeless: 'asked-before' })
  expect(stepUp(undefined, ['a'], 0)).toEqual({ hopeless: 'unnamed' })
  expect(stepUp(['b'], ['a'], 3)).toEqual({ hopeless: 'too-often' })
})

const CONFIG: AuthConfig = {
  ...{
    grant: 'authorization_code',
    clientId: undefined,
    clientSecret: undefined,
    clientMetadataUrl: undefined,
  },
  ...{ issuer: undefined, scopes: [], key: undefined },
}
const AS = { issuer: 'https://as', token_endpoint: 'https://as/token' }
const GRANT: Grant = {
  ...{
    as: AS,
    clientId: 'mine',
    resource: 'https://x/mcp',
    accessToken: 'a',
    requested: [],
    upgrades: 0,
    grantedAt: 0,
  },
}
const EMPTY = emptyRecord('https://x/mcp', 'local')
const registered = (redirectUri: string, more: object = {}): GrantRecord => ({
  ...EMPTY,
  registrations: { [AS.issuer]: { clientId: 'c1', redirectUri, ...more } },
})
const HERE = 'http://127.0.0.1:5/callback'
const DYNAMIC = { registration_endpoint: 'https://as/register' }
const CIMD = { client_id_metadata_document_supported: true }
const URL_CLIENT = 'https://me/mcpx.json'

const clients: [what: string, facts: Partial<Parameters<typeof chooseClient>[0]>, choice: object][] = [
  [
    'the configured one',
    { config: { ...CONFIG, clientId: 'mine' }, as: { ...AS, ...DYNAMIC } },
    { client: { clientId: 'mine' } },
  ],
  [
    'none of another issuer',
    { config: { ...CONFIG, clientId: 'mine', issuer: 'https://b' } },
    { kind: 'foreign', issuer: 'https://b' },
  ],
  [
    'none that was used with another issuer',
    { config: { ...CONFIG, clientId: 'mine' }, as: { issuer: 'https://b' }, record: withGrant(EMPTY, GRANT) },
    { kind: 'foreign', issuer: 'https://as' },
  ],
  [
    'that of a document',
    { config: { ...CONFIG, clientMetadataUrl: URL_CLIENT }, as: { ...AS, ...CIMD, ...DYNAMIC } },
    { client: { clientId: URL_CLIENT } },
  ],
  [
    'a new one where no document is taken',
    { config: { ...CONFIG, clientMetadataUrl: URL_CLIENT }, as: { ...AS, ...DYNAMIC } },
    { kind: 'register' },
  ],
  [
    'the registered one',
    { as: { ...AS, ...DYNAMIC }, record: registered(HERE) },
    { client: { clientId: 'c1' } },
  ],
  [
    'a new one for another redirect',
    { as: { ...AS, ...DYNAMIC }, record: registered('http://127.0.0.1:6/callback') },
    { kind: 'register' },
  ],
  [
    'a new one for another issuer',
    { as: { issuer: 'https://b', ...DYNAMIC }, record: registered(HERE) },
    { kind: 'register' },
  ],
  [
    'a new one for a secret that is over',
    { as: { ...AS, ...DYNAMIC }, record: registered(HERE, { secretExpiresAt: 5 }) },
    { kind: 'register' },
  ],
  ['none where nobody is registered', {}, { kind: 'none' }],
]

test.each(clients)('the client is %s', (_, facts, choice) => {
  const given = { config: CONFIG, as: AS, record: undefined, redirectUri: HERE, now: 10, ...facts }
  expect(chooseClient(given)).toMatchObject(choice)
})

const SECRET = { clientSecret: 's', key: undefined, authMethod: undefined }
const methods: [
  client: Parameters<typeof authMethodOf>[0],
  supported: string[] | undefined,
  method: string,
][] = [
  [SECRET, undefined, 'client_secret_basic'],
  [SECRET, ['client_secret_post', 'client_secret_basic'], 'client_secret_basic'],
  [SECRET, ['client_secret_post'], 'client_secret_post'],
  [SECRET, ['none'], 'none'],
  [{ ...SECRET, authMethod: 'client_secret_post' }, ['client_secret_basic'], 'client_secret_post'],
  [{ ...SECRET, authMethod: 'none' }, ['client_secret_basic'], 'none'],
  [{ ...SECRET, clientSecret: undefined }, ['client_secret_basic'], 'none'],
  [{ ...SECRET, key: () => Promise.reject(new Error('not asked')) }, undefined, 'private_key_jwt'],
]

test.each(methods)('%j with %j proves itself by %s', (client, supported, method) => {
  expect(authMethodOf(client, supported)).toBe(method)
})

test('a registration asks to be public where it may', () => {
  expect(
    [undefined, ['none', 'client_secret_basic'], ['client_secret_post'], ['tls_client_auth']].map(
      wantedAuthMethod,
    ),
  ).toEqual(['none', 'none', 'client_secret_post', 'none'])
})

test('a record is read as it was written, and only as that of its server and principal', () => {
  const record = withGrant(EMPTY, GRANT)
  const text = formatRecord(record)
  expect(parseRecord(text, record)).toEqual(record)
  expect(parseRecord(text, { server: 'https://x/mcp', principal: 'bob' })).toBeUndefined()
  expect(parseRecord(text.slice(0, -9), record)).toBeUndefined()
  expect(parseRecord(text.replace('"version": 1', '"version": 2'), record)).toBeUndefined()
  expect(parseRecord(text.replace('"accessToken"', '"other"'), record)).toEqual({ ...record, grants: {} })
})
