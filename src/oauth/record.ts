// What is remembered of one server for one principal: by authorization server, the client that mcpx is there and what it was granted.
import { isObject } from '../base/index.ts'

/** The parts of an authorization server's metadata that later requests need. */
export interface Issuer {
  readonly issuer: string
  readonly token_endpoint: string
  readonly revocation_endpoint?: string
  readonly token_endpoint_auth_methods_supported?: string[]
}

/** A client that mcpx registered. */
export interface Registration {
  readonly clientId: string
  readonly clientSecret?: string
  /** Milliseconds since the epoch; absent where it never expires. */
  readonly secretExpiresAt?: number
  readonly authMethod?: string
  readonly redirectUri: string
}

/** What an authorization server granted. */
export interface Grant {
  readonly as: Issuer
  readonly clientId: string
  /** The client, where mcpx registered it: another process may register another one meanwhile. */
  readonly registration?: Registration
  readonly resource: string
  readonly accessToken: string
  readonly refreshToken?: string
  /** Milliseconds since the epoch; absent where the server did not say. */
  readonly expiresAt?: number
  /** What was asked for, over all step-ups. */
  readonly requested: readonly string[]
  readonly upgrades: number
  /** Milliseconds since the epoch. */
  readonly grantedAt: number
}

/** All of one server and principal. `issuer` names the grant in force. */
export interface GrantRecord {
  readonly server: string
  readonly principal: string
  readonly issuer: string | undefined
  readonly registrations: Readonly<Record<string, Registration>>
  readonly grants: Readonly<Record<string, Grant>>
}

/** Where the record of one server and principal is kept. */
export interface GrantStore {
  /** The record as last seen here; one that somebody else replaced meanwhile is read again where it held a grant. Never throws. */
  read(): GrantRecord | undefined
  /** The record as it is now, whoever wrote it. Never throws. */
  reread(): GrantRecord | undefined
  /** Changes the record while nobody else does, in any process, and resolves with what `change` gives besides. */
  update<Result>(change: (record: GrantRecord) => Promise<Changed<Result>>): Promise<Result>
}

export interface Changed<Result> {
  /** Undefined where nothing changes. */
  readonly record: GrantRecord | undefined
  readonly result: Result
}

const VERSION = 1

export function emptyRecord(server: string, principal: string): GrantRecord {
  return { server, principal, issuer: undefined, registrations: {}, grants: {} }
}

/** The grant in force. */
export function grantIn(record: GrantRecord | undefined): Grant | undefined {
  return record?.issuer === undefined ? undefined : record.grants[record.issuer]
}

export function withGrant(record: GrantRecord, grant: Grant): GrantRecord {
  const { issuer } = grant.as
  return { ...record, issuer, grants: { ...record.grants, [issuer]: grant } }
}

export function withRegistration(record: GrantRecord, issuer: string, client: Registration): GrantRecord {
  return { ...record, registrations: { ...record.registrations, [issuer]: client } }
}

export function formatRecord(record: GrantRecord): string {
  return `${JSON.stringify({ version: VERSION, ...record }, null, 2)}\n`
}

/** Undefined for a text that is no record of this server and principal, or one of another version. */
export function parseRecord(
  text: string | undefined,
  { server, principal }: Pick<GrantRecord, 'server' | 'principal'>,
): GrantRecord | undefined {
  let value: unknown
  try {
    value = JSON.parse(text ?? '')
  } catch {
    return undefined
  }
  if (!isObject(value) || value['version'] !== VERSION) return undefined
  if (value['server'] !== server || value['principal'] !== principal) return undefined
  const { issuer } = value
  return {
    ...{ server, principal },
    issuer: typeof issuer === 'string' ? issuer : undefined,
    registrations: sound<Registration>(value['registrations'], ['clientId', 'redirectUri']),
    grants: sound<Grant>(value['grants'], ['clientId', 'resource', 'accessToken']),
  }
}

/** The members that have these texts: what is broken is as good as absent, since it can be had again. */
function sound<Entry>(value: unknown, texts: readonly string[]): Record<string, Entry> {
  const entries = Object.entries(isObject(value) ? value : {}).filter(
    ([, entry]) => isObject(entry) && texts.every((name) => typeof entry[name] === 'string'),
  )
  return Object.fromEntries(entries) as Record<string, Entry>
}
