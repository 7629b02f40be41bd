// Logs of a server's calls: which call a line belongs to that no stream attributes, and what a legacy server is told to log.
import { isMoreVerbose, logReaches, METHOD, methodIn } from '../spec/index.ts'
import type { LogLevel, RevisionId } from '../spec/index.ts'
import type { Id } from '../wire/index.ts'

/** A request under way, as far as logs are concerned. */
export interface Logging {
  readonly principal?: string | undefined
  readonly logLevel?: LogLevel | undefined
}

export interface Attribution {
  /** Whether the server logs for those requests alone that want it, as the modern era has it. */
  readonly onlyWanted: boolean
  /** Whether a call waits for an answer of its caller. */
  readonly isParked: (id: Id) => boolean
}

/**
 * The call that gets a line which came on a shared way: the latest started one that wants it, rather one that runs than one
 * that waits. Undefined where calls of several principals may have caused it, since what it says may be one's own.
 */
export function whoseLog(
  level: unknown,
  requests: Iterable<readonly [Id, { readonly request: Logging }]>,
  { onlyWanted, isParked }: Attribution,
): Id | undefined {
  let owner: string | undefined
  let running: Id | undefined
  let parked: Id | undefined
  for (const [id, { request }] of requests) {
    const { principal, logLevel } = request
    const wants = logReaches(level, logLevel)
    if (principal === undefined || (onlyWanted && !wants)) continue
    if (owner !== undefined && owner !== principal) return undefined
    owner = principal
    if (!wants) continue
    if (isParked(id)) parked = id
    else running = id
  }
  return running ?? parked
}

/** What one legacy server was told to log: the most verbose level that any request has wanted so far. */
export class ToldLevel {
  readonly #settable: boolean
  #told: LogLevel | undefined

  constructor(revision: RevisionId, capabilities: Readonly<Record<string, unknown>>) {
    this.#settable =
      capabilities['logging'] !== undefined && methodIn(revision, METHOD.setLevel) !== undefined
  }

  /** Whether the server has to be told that level first; it then counts as told. */
  raise(level: LogLevel | undefined): level is LogLevel {
    if (!this.#settable || level === undefined || !isMoreVerbose(level, this.#told)) return false
    this.#told = level
    return true
  }
}
