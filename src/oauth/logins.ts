// Logins under way: each has a URL for a browser, and ends when the browser comes back, when it takes too long, or with the process.
import {
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  validateAuthResponse,
} from 'oauth4webapi'
import type { AuthorizationServer } from 'oauth4webapi'
import { clip, McpxError } from '../base/index.ts'
import type { Cancellation, Timer } from '../base/index.ts'
import { refusalOf } from './ask.ts'
import type { OAuthIo } from './ask.ts'
import type { Challenge } from './challenge.ts'
import { chooseClient, registeredClient } from './client.ts'
import type { AuthConfig, KnownClient } from './client.ts'
import { discover } from './discovery.ts'
import type { Discovered } from './discovery.ts'
import { grantForCode, register } from './grants.ts'
import { grantIn, withGrant, withRegistration } from './record.ts'
import type { GrantStore } from './record.ts'
import { selectScopes } from './scopes.ts'

/** One server, for one principal. */
export interface Target {
  readonly name: string
  readonly url: string
  readonly principal: string
  readonly config: AuthConfig
  readonly store: GrantStore
  /** Where the browser must come back to, or only on which port; free where both are undefined. */
  readonly redirectUri: string | undefined
  readonly callbackPort: number | undefined
}

/** What a browser is told when it comes back. */
export interface Arrival {
  readonly ok: boolean
  readonly text: string
}

/** A place on this machine where browsers come back to. */
export interface Landing {
  readonly redirectUri: string
  close(): void
}

export interface LandingWish {
  /** The whole URI, which must then be this one. */
  readonly uri: string | undefined
  /** The port that must be taken, or undefined. */
  readonly port: number | undefined
  /** The URI that would be best, since it is registered. */
  readonly best: string | undefined
}

export interface LoginsIo extends OAuthIo {
  /** Opens a landing. Rejects with `PORT_TAKEN` where a wanted one cannot be had. */
  readonly land: (
    wish: LandingWish,
    arrive: (params: URLSearchParams) => Promise<Arrival>,
  ) => Promise<Landing>
  /** Somebody has logged in. */
  readonly onDone?: (target: Pick<Target, 'name' | 'principal'>) => void
}

/** A login that waits for its browser. */
export interface Login {
  /** Names it, and opens nothing. */
  readonly id: string
  readonly url: string
  /** Rejects with the McpxError of a login that failed or took too long. */
  readonly done: Promise<void>
}

export interface Wish {
  readonly challenge: Challenge
  /** Whether a grant is to be widened. */
  readonly upgrade: boolean
}

interface Pending extends Login {
  readonly key: string
  readonly target: Target
  readonly discovered: Discovered
  readonly client: KnownClient
  readonly scopes: readonly string[]
  readonly upgrades: number
  readonly state: string
  readonly verifier: string
  readonly landing: Landing
  readonly timer: Timer
  readonly settle: (error?: McpxError) => void
}

/** How long a person may take, in ms. */
const PATIENCE = 10 * 60_000

export class Logins {
  readonly #io: LoginsIo
  readonly #byKey = new Map<string, Promise<Pending>>()
  readonly #byState = new Map<string, Pending>()
  #stopped = false

  constructor(io: LoginsIo) {
    this.#io = io
  }

  /**
   * Begins a login, or gives the one that is under way where it asks for enough. Rejects with `AUTH_REQUIRED` where none can be
   * offered, and with `AUTH_UNAVAILABLE` where that may change by itself; the message says why, and not of whom.
   */
  async begin(target: Target, wish: Wish): Promise<Login> {
    const key = keyOf(target)
    const running = await this.#byKey.get(key)?.catch(() => undefined)
    if (running !== undefined && this.#byState.has(running.state)) {
      const enough = (wish.challenge.scopes ?? []).every((scope) => running.scopes.includes(scope))
      if (enough) return running
      this.#end(running, gone('another one took its place'))
    }
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    const starting = this.#start(target, wish)
    this.#byKey.set(key, starting)
    starting.catch(() => {
      if (this.#byKey.get(key) === starting) this.#byKey.delete(key)
    })
    return starting
  }

  /** Resolves when no login of that server and principal is under way any more, at the latest after `ms`. Never rejects. */
  async over(
    target: Pick<Target, 'name' | 'principal'>,
    { ms, cancellation }: { readonly ms: number; readonly cancellation: Cancellation },
  ): Promise<void> {
    const pending = await this.#byKey.get(keyOf(target))?.catch(() => undefined)
    if (pending === undefined) return
    await new Promise<void>((resolve) => {
      const timer = this.#io.clock.after(ms, resolve)
      const forget = cancellation.onCancel(() => resolve())
      const done = (): void => {
        timer.cancel()
        forget()
        resolve()
      }
      pending.done.then(done, done)
    })
  }

  /** A browser came back, or somebody says what it came back with. Never rejects. */
  async arrive(params: URLSearchParams): Promise<Arrival> {
    const pending = this.#byState.get(params.get('state') ?? '')
    if (pending === undefined)
      return { ok: false, text: 'This login is not known here, or it is over. Begin another one.' }
    // A code is good once, and so is a state.
    this.#byState.delete(pending.state)
    const { name } = pending.target
    try {
      await this.#finish(pending, params)
      this.#end(pending)
      this.#io.onDone?.(pending.target)
      return { ok: true, text: `mcpx is logged in to ${clip(name)}. This page can be closed.` }
    } catch (error) {
      const failure = await failureOf(error)
      this.#io.log.warn('a login failed', { server: name, error: failure.message })
      this.#end(pending, failure)
      return { ok: false, text: `The login to ${clip(name)} failed: ${failure.message}` }
    }
  }

  stop(): void {
    this.#stopped = true
    for (const pending of this.#byState.values()) this.#end(pending, gone('mcpx is stopping'))
  }

  async #start(target: Target, wish: Wish): Promise<Pending> {
    const { clock, fetch, land } = this.#io
    const { url: server, config, store } = target
    const { challenge } = wish
    const discovered = await discover({
      ...{ server, named: challenge.resourceMetadata, preferred: config.issuer, fetch },
    }).catch(explained)
    const { as } = discovered
    if (as.authorization_endpoint === undefined) throw none(`${as.issuer} lets nobody log in`)
    const record = store.reread()
    const best = record?.registrations[as.issuer]?.redirectUri
    const wished = { uri: target.redirectUri, port: target.callbackPort, best }
    const landing = await land(wished, (params) => this.arrive(params))
    try {
      const grant = grantIn(record)
      const before = grant?.as.issuer === as.issuer ? grant : undefined
      const scopes = selectScopes({
        challenged: challenge.scopes,
        supported: discovered.scopes,
        configured: config.scopes,
        before: before?.requested ?? [],
        offered: as.scopes_supported,
        lasting: true,
      })
      const client = await this.#client(target, { discovered, scopes, redirectUri: landing.redirectUri })
      const state = generateRandomState()
      const verifier = generateRandomCodeVerifier()
      const url = await authorizationUrl(as.authorization_endpoint, {
        ...{ clientId: client.clientId, redirectUri: landing.redirectUri },
        ...{ scopes, resource: discovered.resource, state, verifier },
      })
      if (this.#stopped) throw gone('mcpx is stopping')
      let settle: Pending['settle'] = () => {}
      const done = new Promise<void>((resolve, reject) => {
        settle = (error) => (error === undefined ? resolve() : reject(error))
      })
      // Whoever began it may not wait for its end.
      done.catch(() => {})
      const pending: Pending = {
        ...{ id: generateRandomState(), url, done, settle, key: keyOf(target), target, discovered },
        ...{ client, scopes, state, verifier, landing },
        upgrades: wish.upgrade ? (before?.upgrades ?? 0) + 1 : 0,
        timer: clock.after(PATIENCE, () => this.#end(pending, gone('nobody finished it in time'))),
      }
      this.#byState.set(state, pending)
      return pending
    } catch (error) {
      landing.close()
      throw error
    }
  }

  /** The client to log in as, registered where need be. */
  async #client(
    { url: server, config, store }: Target,
    wanted: {
      readonly discovered: Discovered
      readonly scopes: readonly string[]
      readonly redirectUri: string
    },
  ): Promise<KnownClient> {
    const { discovered, scopes, redirectUri } = wanted
    const { as } = discovered
    const now = this.#io.clock.now()
    const choice = chooseClient({ config, as, record: store.read(), redirectUri, now })
    switch (choice.kind) {
      case 'known':
        return choice.client
      case 'foreign':
        throw none(
          `its client is registered with ${clip(choice.issuer)}, and it now names ${clip(as.issuer)}. Register there, and correct "auth"`,
        )
      case 'none':
        throw none(
          `${clip(as.issuer)} registers nobody. Register mcpx there, and set "auth": {"clientId": …}`,
        )
      case 'register': {
        const client = await register({ server, as, redirectUri, scopes, io: this.#io }).catch(
          async (error: unknown) => {
            const refusal = await refusalOf(error)
            if (refusal.kind === 'unavailable')
              throw unavailable(`${clip(as.issuer)} registered nobody: ${refusal.why}`)
            throw none(`${clip(as.issuer)} refused to register mcpx (${refusal.code})`)
          },
        )
        await store.update(async (record) => ({
          record: withRegistration(record, as.issuer, client),
          result: undefined,
        }))
        return registeredClient(client)
      }
    }
  }

  async #finish(pending: Pending, given: URLSearchParams): Promise<void> {
    const { target, discovered, client, scopes, upgrades, state, verifier, landing } = pending
    const { as, resource } = discovered
    // `iss` is compared before anything else is believed, an error least of all (RFC 9207, section 2.4).
    const params = validateAuthResponse(as, { client_id: client.clientId }, given, state)
    const asking = { server: target.url, as, client, resource, requested: scopes, upgrades, io: this.#io }
    const grant = await grantForCode(asking, { params, redirectUri: landing.redirectUri, verifier })
    await target.store.update(async (record) => ({ record: withGrant(record, grant), result: undefined }))
  }

  #end(pending: Pending, error?: McpxError): void {
    pending.timer.cancel()
    pending.landing.close()
    this.#byState.delete(pending.state)
    this.#byKey.delete(pending.key)
    pending.settle(error)
  }
}

interface Authorization {
  readonly clientId: string
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly resource: string
  readonly state: string
  readonly verifier: string
}

async function authorizationUrl(
  endpoint: NonNullable<AuthorizationServer['authorization_endpoint']>,
  { clientId, redirectUri, scopes, resource, state, verifier }: Authorization,
): Promise<string> {
  const url = new URL(endpoint)
  const params = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    // OpenID Connect gives a lasting grant only where the person is asked (OpenID Connect Core, section 11).
    ...(scopes.includes('offline_access') && { prompt: 'consent' }),
    resource,
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
  return url.href
}

function keyOf({ name, principal }: Pick<Target, 'name' | 'principal'>): string {
  return `${name}\n${principal}`
}

async function failureOf(error: unknown): Promise<McpxError> {
  if (error instanceof McpxError) return error
  const refusal = await refusalOf(error)
  return refusal.kind === 'refused'
    ? none(`the authorization server refused it (${refusal.code})`)
    : unavailable(refusal.why)
}

async function explained(error: unknown): Promise<never> {
  if (error instanceof McpxError) throw error
  const refusal = await refusalOf(error)
  throw unavailable(refusal.kind === 'unavailable' ? refusal.why : refusal.code)
}

function none(why: string): McpxError {
  return new McpxError('AUTH_REQUIRED', why)
}

function unavailable(why: string): McpxError {
  return new McpxError('AUTH_UNAVAILABLE', why)
}

function gone(why: string): McpxError {
  return new McpxError('AUTH_REQUIRED', `The login is over: ${why}. Begin another one.`)
}
