// The credentials of one server for one principal: put on each request, renewed when they run out or are refused, and asked of a
// person only when nothing else is left.
import { clip, McpxError } from '../base/index.ts'
import type { Authorizer, Refusal as RefusedRequest } from '../wire/index.ts'
import { refusalOf } from './ask.ts'
import type { OAuthIo } from './ask.ts'
import { NO_CHALLENGE, readChallenge } from './challenge.ts'
import type { Challenge } from './challenge.ts'
import { chooseClient, clientOf } from './client.ts'
import { discover } from './discovery.ts'
import { grantForClient, refreshed } from './grants.ts'
import type { Login, Logins, Target, Wish } from './logins.ts'
import { grantIn, withGrant } from './record.ts'
import type { Changed, Grant, GrantRecord } from './record.ts'
import { selectScopes, stepUp } from './scopes.ts'

export interface AuthorizerOptions {
  readonly target: Target
  readonly io: OAuthIo
  /** Undefined in a process that does not live long enough for a person to log in. */
  readonly logins: Logins | undefined
}

type Offer = Pick<Login, 'url' | 'id'>

/** What came of a renewal: another token, no use for this one any more, or neither. */
type Renewal =
  | { readonly kind: 'renewed' }
  | { readonly kind: 'spent' }
  | { readonly kind: 'failed'; readonly error: McpxError }

/** A token is renewed so long before its end, in ms, or a tenth of its life where that is less. */
const EARLY = 30_000
/** A failure counts so long for the refusal that follows from it, in ms, and what cannot be offered is not looked for again. */
const JUST_NOW = 1000
const NOT_AGAIN = 30_000

export class ServerAuthorizer implements Authorizer {
  readonly #target: Target
  readonly #io: OAuthIo
  readonly #logins: Logins | undefined
  #renewing: Promise<Renewal> | undefined
  /** How the last renewal ended that no refusal asked for, where it failed. */
  #early: { readonly at: number; readonly error: McpxError } | undefined
  #noLogin: { readonly at: number; readonly error: McpxError } | undefined

  constructor({ target, io, logins }: AuthorizerOptions) {
    this.#target = target
    this.#io = io
    this.#logins = logins
  }

  header(): string | undefined | Promise<string | undefined> {
    const grant = grantIn(this.#target.store.read())
    if (grant === undefined) return undefined
    if (!this.#runsOut(grant) || !this.#isRenewable(grant)) return bearer(grant)
    // Where that fails, the old one may still do: the server has the last word.
    return this.#renew(grant.accessToken, NO_CHALLENGE).then((renewal) => {
      this.#early = renewal.kind === 'failed' ? { at: this.#io.clock.now(), error: renewal.error } : undefined
      return bearerOf(this.#target.store.read())
    })
  }

  async refused({
    status,
    challenge: header,
    sent,
    attempt,
  }: RefusedRequest): Promise<'again' | McpxError | undefined> {
    const challenge = readChallenge(header)
    try {
      if (status === 403) return await this.#forbidden(challenge, sent, attempt)
      return await this.#unauthorized(challenge, sent, attempt)
    } catch (error) {
      if (error instanceof McpxError) return error
      return this.#error('INTERNAL', error instanceof Error ? error.message : String(error))
    }
  }

  async #unauthorized(
    challenge: Challenge,
    sent: string | undefined,
    attempt: number,
  ): Promise<'again' | McpxError> {
    const { store, config } = this.#target
    const grant = grantIn(store.reread())
    const current = grant && bearer(grant)
    // Another call, or another process, has a newer one already.
    if (current !== undefined && current !== sent) return 'again'
    const own = config.grant === 'client_credentials'
    if (attempt === 1 && (own || (grant !== undefined && this.#isRenewable(grant)))) {
      // It was tried before this request was sent.
      if (this.#early !== undefined && this.#io.clock.now() - this.#early.at < JUST_NOW)
        return this.#early.error
      const renewal = await this.#renew(grant?.accessToken, challenge)
      if (renewal.kind === 'renewed') return 'again'
      if (renewal.kind === 'failed') return renewal.error
    }
    if (own) return this.#error('AUTH_REQUIRED', 'refuses what mcpx was granted for itself (HTTP 401)')
    return this.#login(challenge, false)
  }

  async #forbidden(
    challenge: Challenge,
    sent: string | undefined,
    attempt: number,
  ): Promise<'again' | McpxError | undefined> {
    if (challenge.error !== 'insufficient_scope') return undefined
    const grant = grantIn(this.#target.store.reread())
    if (grant === undefined) return this.#login(challenge, false)
    if (bearer(grant) !== sent && attempt === 1) return 'again'
    const step = stepUp(challenge.scopes, grant.requested, grant.upgrades)
    if ('hopeless' in step) return this.#hopeless(step.hopeless, challenge)
    if (this.#target.config.grant !== 'client_credentials') return this.#login(challenge, true)
    const renewal = await this.#renew(grant.accessToken, challenge)
    return renewal.kind === 'failed' ? renewal.error : 'again'
  }

  #hopeless(why: 'unnamed' | 'asked-before' | 'too-often', { scopes = [] }: Challenge): McpxError {
    const what = scopes.length === 0 ? 'more than it was granted' : `the scope ${clip(scopes.join(' '), 200)}`
    const because = {
      unnamed: 'It does not say which scope.',
      'asked-before': 'That was asked for and not granted.',
      'too-often': 'More was asked for several times already.',
    }[why]
    return this.#error(
      'AUTH_REQUIRED',
      `wants ${what} for this (HTTP 403). ${because} To ask anew: mcpx login ${this.#target.name}`,
    )
  }

  /** The error of a request that needs a person; `data.login.begin` begins the login, once there is somebody to be told where. */
  #login(challenge: Challenge, upgrade: boolean): McpxError {
    const { name, principal } = this.#target
    const wants = upgrade
      ? `wants more permission (${clip((challenge.scopes ?? []).join(' '), 200)})`
      : 'needs a login'
    const remedy = `run mcpx login ${name}`
    const logins = this.#logins
    if (logins === undefined)
      return this.#error('AUTH_REQUIRED', `${wants}: ${remedy}, and make the call again`)
    const begin = (): Promise<Offer> => this.#offer(logins, { challenge, upgrade }, wants)
    const text = `${wants}: log in, or ${remedy}, and make the call again`
    return this.#error('AUTH_REQUIRED', text, { login: { server: name, principal, begin } })
  }

  /** Rejects with the McpxError that says why nobody can log in. */
  async #offer(logins: Logins, wish: Wish, wants: string): Promise<Offer> {
    const now = this.#io.clock.now()
    if (this.#noLogin !== undefined && now - this.#noLogin.at < NOT_AGAIN) throw this.#noLogin.error
    try {
      const { url, id } = await logins.begin(this.#target, wish)
      return { url, id }
    } catch (error) {
      if (!(error instanceof McpxError)) throw error
      if (error.code !== 'AUTH_REQUIRED')
        throw this.#error(error.code, `${wants}, which cannot be had just now: ${error.message}`)
      const hint =
        this.#target.config.clientId === undefined
          ? ' If it takes a fixed token, set its "headers" in the configuration'
          : ''
      const text = `asks for credentials (HTTP 401), and no login can be offered: ${error.message}.${hint}`
      this.#noLogin = { at: now, error: this.#error('AUTH_REQUIRED', text) }
      throw this.#noLogin.error
    }
  }

  #runsOut({ expiresAt, grantedAt }: Grant): boolean {
    if (expiresAt === undefined) return false
    return this.#io.clock.now() >= expiresAt - Math.min(EARLY, (expiresAt - grantedAt) / 10)
  }

  #isRenewable({ refreshToken }: Grant): boolean {
    return refreshToken !== undefined || this.#target.config.grant === 'client_credentials'
  }

  /** One renewal at a time, here and, by the store, in all processes. Never rejects. */
  #renew(token: string | undefined, challenge: Challenge): Promise<Renewal> {
    this.#renewing ??= this.#renewed(token, challenge).finally(() => (this.#renewing = undefined))
    return this.#renewing
  }

  async #renewed(token: string | undefined, challenge: Challenge): Promise<Renewal> {
    const { store, config } = this.#target
    try {
      return await store.update((record) => {
        const grant = grantIn(record)
        if (grant !== undefined && grant.accessToken !== token) return unchanged({ kind: 'renewed' })
        return config.grant === 'client_credentials'
          ? this.#grantedToSelf(record, challenge)
          : this.#refreshed(record, grant)
      })
    } catch (error) {
      const failure =
        error instanceof McpxError
          ? error
          : this.#error('AUTH_UNAVAILABLE', error instanceof Error ? error.message : String(error))
      return { kind: 'failed', error: failure }
    }
  }

  async #refreshed(record: GrantRecord, grant: Grant | undefined): Promise<Changed<Renewal>> {
    const { config, url: server } = this.#target
    if (grant?.refreshToken === undefined) return unchanged({ kind: 'spent' })
    const { resource, requested, upgrades, refreshToken } = grant
    const client = clientOf(grant, config)
    if (client === undefined) return unchanged({ kind: 'spent' })
    const as = { ...grant.as }
    try {
      const renewed = await refreshed(
        { server, as, client, resource, requested, upgrades, io: this.#io },
        refreshToken,
      )
      return { record: withGrant(record, renewed), result: { kind: 'renewed' } }
    } catch (error) {
      const refusal = await refusalOf(error)
      if (refusal.kind === 'unavailable') {
        const text = `could not have its token renewed by ${clip(as.issuer)}: ${refusal.why}. The token is kept; try again`
        throw this.#error('AUTH_UNAVAILABLE', text, { cause: undefined })
      }
      this.#io.log.warn('a token could not be renewed', { server: this.#target.name, error: refusal.code })
      // Only this one code says that the refresh token itself is spent; the access token may still be good.
      if (refusal.code !== 'invalid_grant') return unchanged({ kind: 'spent' })
      const { refreshToken: _, ...rest } = grant
      return { record: withGrant(record, rest), result: { kind: 'spent' } }
    }
  }

  async #grantedToSelf(record: GrantRecord, challenge: Challenge): Promise<Changed<Renewal>> {
    const { config, url: server } = this.#target
    const { fetch, clock } = this.#io
    const before = grantIn(record)
    try {
      const { as, resource, scopes } = await discover({
        ...{ server, named: challenge.resourceMetadata, preferred: config.issuer, fetch },
      })
      const choice = chooseClient({ config, as, record, redirectUri: undefined, now: clock.now() })
      if (choice.kind !== 'known') {
        throw this.#error(
          'AUTH_REQUIRED',
          'needs a client of its authorization server: set "auth": {"clientId": …}',
        )
      }
      const requested = selectScopes({
        ...{ challenged: challenge.scopes, supported: scopes, configured: config.scopes },
        ...{
          before: before?.as.issuer === as.issuer ? before.requested : [],
          offered: undefined,
          lasting: false,
        },
      })
      const upgrades = challenge.error === 'insufficient_scope' ? (before?.upgrades ?? 0) + 1 : 0
      const asking = { server, as, client: choice.client, resource, requested, upgrades, io: this.#io }
      const grant = await grantForClient(asking)
      return { record: withGrant(record, grant), result: { kind: 'renewed' } }
    } catch (error) {
      if (error instanceof McpxError) throw this.#named(error)
      const refusal = await refusalOf(error)
      throw refusal.kind === 'unavailable'
        ? this.#error('AUTH_UNAVAILABLE', `could not have a token granted: ${refusal.why}`)
        : this.#error(
            'AUTH_REQUIRED',
            `could not have a token granted: the authorization server refused it (${refusal.code})`,
          )
    }
  }

  #named(error: McpxError): McpxError {
    return error.message.startsWith('Server ')
      ? error
      : this.#error(error.code, `cannot be entered: ${error.message}`)
  }

  #error(code: McpxError['code'], text: string, data: Record<string, unknown> = {}): McpxError {
    return new McpxError(code, `Server "${this.#target.name}" ${text}.`, { data: { ...data, ran: 'no' } })
  }
}

function unchanged(result: Renewal): Promise<Changed<Renewal>> {
  return Promise.resolve({ record: undefined, result })
}

function bearerOf(record: GrantRecord | undefined): string | undefined {
  const grant = grantIn(record)
  return grant && bearer(grant)
}

function bearer({ accessToken }: Grant): string {
  return `Bearer ${accessToken}`
}
