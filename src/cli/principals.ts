// Who a request's credential stands for. Keys are looked up by the hash of what was sent, so how long that takes says nothing
// of a token.
import { statSync } from 'node:fs'
import { asMcpxError } from '../base/index.ts'
import type { Clock, Log } from '../base/index.ts'
import { parseApiKey } from '../config/index.ts'
import { LOCAL_USER } from '../endpoint/index.ts'
import type { BadCredential, Principals } from '../endpoint/index.ts'
import { hashOf, keysPath, readKeys } from './keys-file.ts'
import type { KeysFile } from './keys-file.ts'
import { readToken, tokenPath } from './token-file.ts'

export interface PrincipalsOptions {
  /** The state folder, with the local user's token and the file of keys; neither needs to be there. */
  readonly folder: string
  /** Further keys as the setting `auth.keys` has them. */
  readonly configured: () => readonly string[]
  /** What makes a caller the local user: the setting `auth.local`. */
  readonly local: () => 'token' | 'open'
  readonly clock: Clock
  readonly log: Log
}

/** RFC 6750, section 2.1. */
const BEARER = /^Bearer +([\w.~+/-]+=*) *$/i

const AS_BEARER = 'send it as "Authorization: Bearer <token>"'
const FAULTS = {
  missing: `This daemon wants a credential: \`mcpx token\` prints that of the local user, \`mcpx keys add <name>\` makes one for somebody else; ${AS_BEARER}. "mcpx serve" needs none. The setting auth.local, set to "open", lets in whoever reaches the port.`,
  malformed: `The Authorization header holds no bearer token: ${AS_BEARER}, the token without spaces or quotes.`,
  unknown:
    'The key is not known here. mcpx keys list shows the keys there are, mcpx keys add <name> makes a new one; the token of the local user is what mcpx token prints now.',
  unreadable: "No key can be checked: the file of keys cannot be read, and the daemon's log says why.",
} as const

/**
 * The principals of the keys in force at each look: a key that was added, revoked or renewed counts at once, for a `stat` of
 * each file. While the file of keys cannot be read every key is refused, those of the configuration too, and the log says so
 * once; the token of the local user stays good.
 */
export function createPrincipals(options: PrincipalsOptions): Principals {
  const { folder, configured, local, clock, log } = options
  const token = whileSame(tokenPath(folder), () => {
    const text = readToken(folder)
    return text === undefined ? undefined : hashOf(text)
  })
  const stored = whileSame(keysPath(folder), () => byHash(readKeys(keysPath(folder))))
  let given: { readonly lines: readonly string[]; readonly names: ReadonlyMap<string, string> } | undefined
  let warned = false

  function givenNames(): ReadonlyMap<string, string> {
    const lines = configured()
    if (given?.lines !== lines) {
      const keys = lines.map(parseApiKey).filter((key) => key !== undefined)
      given = { lines, names: new Map(keys.map(({ name, hash }) => [hash, name])) }
    }
    return given.names
  }

  function find(hash: string): string | BadCredential {
    if (token() === hash) return LOCAL_USER
    try {
      const key = stored().get(hash)
      warned = false
      if (key !== undefined && 'good' in key) return inTime(key.good, clock.now())
      return givenNames().get(hash) ?? key?.bad ?? fault('unknown')
    } catch (error) {
      if (!warned) log.error('every key is refused', { error: asMcpxError(error).message })
      warned = true
      return fault('unreadable')
    }
  }

  return {
    of: (authorization) => {
      if (authorization === undefined) return local() === 'open' ? LOCAL_USER : fault('missing')
      const sent = BEARER.exec(authorization)?.[1]
      return sent === undefined ? fault('malformed') : find(hashOf(sent))
    },
  }
}

type Known = { readonly good: KeysFile['keys'][number] } | { readonly bad: BadCredential }

function byHash({ keys, revoked }: KeysFile): ReadonlyMap<string, Known> {
  const known = new Map<string, Known>()
  for (const { name, hash, revokedAt } of revoked) {
    const message = `The key of "${name}" was revoked at ${revokedAt}. mcpx keys add makes a new one.`
    known.set(hash, { bad: { fault: 'revoked', message } })
  }
  for (const key of keys) known.set(key.hash, { good: key })
  return known
}

function inTime({ name, expiresAt }: KeysFile['keys'][number], now: number): string | BadCredential {
  if (expiresAt === undefined || now < Date.parse(expiresAt)) return name
  const message = `The key of "${name}" expired at ${expiresAt}. Revoke it, and make a new one with mcpx keys add.`
  return { fault: 'expired', message }
}

function fault(kind: keyof typeof FAULTS): BadCredential {
  return { fault: kind, message: FAULTS[kind] }
}

/** What reading a file came to, until another file is put in its place. An error is not kept: the next look reads again. */
function whileSame<T>(path: string, read: () => T): () => T {
  let last: { readonly state: string | undefined; readonly value: T } | undefined
  return () => {
    const stat = statSync(path, { throwIfNoEntry: false })
    const state = stat === undefined ? undefined : `${stat.mtimeMs} ${stat.size} ${stat.ino}`
    if (last === undefined || last.state !== state) {
      last = undefined
      last = { state, value: read() }
    }
    return last.value
  }
}
