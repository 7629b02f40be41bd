// How commands find the daemon of their configuration: a small file in the state folder, one for each configuration file.
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { isObject, McpxError } from '../base/index.ts'
import { stateDir } from './paths.ts'

export interface DaemonRecord {
  readonly pid: number
  /** `http://host:port`. */
  readonly url: string
  readonly socket: string
  readonly version: string
  readonly config: string
}

/** A socket's path may not be longer on any system. */
const MAX_SOCKET_PATH = 100

/** Leaves word of a running daemon. Returns the function that takes it away. */
export async function leaveRecord(record: DaemonRecord): Promise<() => void> {
  const path = join(folder(), nameOf(record.config))
  await writeFileAtomic(path, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  return () => {
    // Another daemon may have taken over meanwhile.
    if (readRecord(path)?.pid === record.pid) rmSync(path, { force: true })
  }
}

/** The daemon that serves a configuration file, if its process is there. */
export function findDaemon(config: string): DaemonRecord | undefined {
  const record = readRecord(join(stateDir(process.env), nameOf(config)))
  return record !== undefined && isAlive(record.pid) ? record : undefined
}

/** Where the daemon of a configuration listens for `mcpx serve`. */
export function socketPath(config: string, platform: NodeJS.Platform = process.platform): string {
  const name = `mcpx-${hashOf(config)}`
  if (platform === 'win32') return `\\\\.\\pipe\\${name}-${hashOf(stateDir(process.env))}`
  const inState = join(folder(), `${name}.sock`)
  if (inState.length <= MAX_SOCKET_PATH) return inState
  const short = join(tmpdir(), `mcpx-${userInfo().uid}`)
  mkdirSync(short, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(short)
  if (uid !== userInfo().uid || (mode & 0o077) !== 0) {
    throw new McpxError(
      'INTERNAL',
      `${short} belongs to somebody else or is open to others; set MCPX_STATE_DIR to a shorter path.`,
    )
  }
  return join(short, `${hashOf(inState)}.sock`)
}

function nameOf(config: string): string {
  return `daemon-${hashOf(config)}.json`
}

/** The state folder, which is made where it is missing. */
function folder(): string {
  const path = stateDir(process.env)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return path
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

function readRecord(path: string): DaemonRecord | undefined {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { pid, url, socket, version, config } = value
  const whole =
    typeof pid === 'number' && [url, socket, version, config].every((text) => typeof text === 'string')
  return whole
    ? { pid, url: String(url), socket: String(socket), version: String(version), config: String(config) }
    : undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Another user's process is a process all the same.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
