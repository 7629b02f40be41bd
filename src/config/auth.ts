// What the configuration says of entering a server by OAuth.
import { isObject } from '../base/index.ts'
import type { ValueType } from './value-type.ts'

/** As the file has it: `${…}` is not expanded. */
export interface AuthDefinition {
  readonly grant: 'authorization_code' | 'client_credentials'
  readonly clientId: string | undefined
  readonly clientSecret: string | undefined
  readonly clientMetadataUrl: string | undefined
  readonly issuer: string | undefined
  readonly scopes: readonly string[]
  /** A PKCS#8 key in PEM, or the path of one. */
  readonly privateKey: string | undefined
  readonly privateKeyFile: string | undefined
  readonly algorithm: string | undefined
  readonly redirectUri: string | undefined
  readonly callbackPort: number | undefined
}

/** The texts of a definition in which variables stand. */
export const AUTH_TEXTS = [
  'clientId',
  'clientSecret',
  'clientMetadataUrl',
  'issuer',
  'privateKey',
  'privateKeyFile',
  'redirectUri',
] as const

const ALGORITHMS = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA']
const GRANTS = ['authorization_code', 'client_credentials'] as const
const KNOWN = new Set(['grant', 'algorithm', 'scopes', 'callbackPort', ...AUTH_TEXTS])
/** Other names for the same: Cursor's. */
const ALIASES: Readonly<Record<string, string>> = {
  CLIENT_ID: 'clientId',
  CLIENT_SECRET: 'clientSecret',
  scope: 'scopes',
}

/** `false` enters a server with its headers alone, whatever it answers. */
export const auth: ValueType<AuthDefinition | false> = {
  name: 'object',
  allowed:
    'false, or an object of clientId, clientSecret, clientMetadataUrl, issuer, scopes, grant (authorization_code or client_credentials), privateKey, privateKeyFile, algorithm, redirectUri (http on this machine) and callbackPort',
  schema: {
    anyOf: [
      { enum: [false, 'oauth'] },
      {
        type: 'object',
        properties: {
          grant: { enum: [...GRANTS] },
          scopes: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] },
          algorithm: { enum: ALGORITHMS },
          callbackPort: { type: 'integer', minimum: 1, maximum: 65_535 },
          ...Object.fromEntries(AUTH_TEXTS.map((name) => [name, { type: 'string', minLength: 1 }])),
        },
        additionalProperties: false,
      },
    ],
  },
  secret: true,
  read: readAuth,
  readText: () => undefined,
  write: (value) => (value === false ? 'false' : value.grant),
}

/** The same as other hosts have it, in whose objects there is more: what mcpx does not know has no effect. */
export const hostsOauth: ValueType<AuthDefinition | false> = {
  ...auth,
  schema: { type: ['object', 'boolean'] },
  read: (given) => {
    if (!isObject(given)) return given === false ? false : readAuth({})
    const known = Object.entries(given).filter(([name]) => KNOWN.has(ALIASES[name] ?? name))
    return readAuth(Object.fromEntries(known)) ?? readAuth({})
  },
}

function readAuth(given: unknown): AuthDefinition | false | undefined {
  if (given === false) return false
  if (given === 'oauth') return readAuth({})
  if (!isObject(given)) return undefined
  const values = new Map(Object.entries(given).map(([name, value]) => [ALIASES[name] ?? name, value]))
  const { grant = 'authorization_code', algorithm, scopes = [], callbackPort } = Object.fromEntries(values)
  const texts = AUTH_TEXTS.map((name) => [name, values.get(name)] as const)
  const listed = typeof scopes === 'string' ? scopes.split(' ').filter((scope) => scope !== '') : scopes
  const sound =
    [...values.keys()].every((name) => KNOWN.has(name)) &&
    texts.every(([, value]) => value === undefined || (typeof value === 'string' && value !== '')) &&
    (GRANTS as readonly unknown[]).includes(grant) &&
    (algorithm === undefined || (ALGORITHMS as readonly unknown[]).includes(algorithm)) &&
    Array.isArray(listed) &&
    listed.every((scope) => typeof scope === 'string') &&
    (callbackPort === undefined || isPort(callbackPort)) &&
    isRedirect(values.get('redirectUri'))
  if (!sound) return undefined
  return {
    ...(Object.fromEntries(texts) as Record<(typeof AUTH_TEXTS)[number], string | undefined>),
    grant: grant as AuthDefinition['grant'],
    algorithm: algorithm as string | undefined,
    scopes: listed,
    callbackPort: callbackPort as number | undefined,
  }
}

function isPort(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535
}

/** mcpx listens for the browser itself, so that it can only come back to this machine. */
function isRedirect(value: unknown): boolean {
  if (value === undefined) return true
  return typeof value === 'string' && /^http:\/\/(localhost|127\.0\.0\.1|\[::1\]):\d+(\/[^?#]*)?$/.test(value)
}
