// Who a request's credential stands for. Keys are looked up by the hash of what was sent, so how long that takes says nothing
// of a token.
import { statSync } from 'node:fs'
import { asMcpxError } from '../base/index.ts'
import type { Log } from '../base/index.ts'
import { parseApiKey } from '../config/index.ts'
import type { ApiKey } from '../config/index.ts'
import { LOCAL_USER } from '../endpoint/index.ts'
import type { Principals } from '../endpoint/index.ts'
import { hashOf, readKeys } from './keys-file.ts'

export interface PrincipalsOptions {
  /** The file of keys; it need not be there. */
  readonly path: string
  /** Further keys as the setting `auth.keys` has them. */
  readonly configured: () => readonly string[]
  readonly log: Log
}

/** RFC 6750, section 2.1. */
const BEARER = /^Bearer +([\w.~+/-]+=*) *$/i

type Names = ReadonlyMap<string, string>

/**
 * The principals of the keys in force at each look: a key that was added or revoked counts at once, for one `stat` of the file.
 * While the file cannot be read every key is refused, those of the configuration too, and the log says so once.
 */
export function createPrincipals({ path, configured, log }: PrincipalsOptions): Principals {
  let stored: { readonly state: string | undefined; readonly names: Names } | undefined
  let given: { readonly lines: readonly string[]; readonly names: Names } | undefined
  let warned = false

  function storedNames(): Names {
    const state = stateOf(path)
    if (stored === undefined || stored.state !== state) {
      stored = undefined
      stored = { state, names: namesOf(readKeys(path)) }
    }
    return stored.names
  }

  function givenNames(): Names {
    const lines = configured()
    if (given?.lines !== lines)
      given = { lines, names: namesOf(lines.map(parseApiKey).filter((key) => key !== undefined)) }
    return given.names
  }

  function find(hash: string): string | undefined {
    try {
      const name = storedNames().get(hash) ?? givenNames().get(hash)
      warned = false
      return name
    } catch (error) {
      if (!warned) log.error('every key is refused', { error: asMcpxError(error).message })
      warned = true
      return undefined
    }
  }

  return {
    of: (authorization) => {
      if (authorization === undefined) return LOCAL_USER
      const token = BEARER.exec(authorization)?.[1]
      return token === undefined ? undefined : find(hashOf(token))
    },
  }
}

function namesOf(keys: readonly ApiKey[]): Names {
  return new Map(keys.map(({ name, hash }) => [hash, name]))
}

/** What changes whenever another file is put in its place; undefined where there is none. */
function stateOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? undefined : `${stat.mtimeMs} ${stat.size} ${stat.ino}`
}
