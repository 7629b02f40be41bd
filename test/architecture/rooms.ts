// The table of rooms, and what the cruiser and the disk say of the sources.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bin } from '../../scripts/bin.mjs'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Room {
  readonly name: string
  readonly may: readonly string[]
  readonly node: boolean
  readonly npm: readonly string[]
  readonly owns: string
}

export function readRooms(root = ROOT): readonly Room[] {
  const table = JSON.parse(readFileSync(join(root, 'architecture', 'rooms.json'), 'utf8')) as {
    rooms: Room[]
  }
  return table.rooms
}

/** Imports that point at a room which does not stand above in the table, as `from -> to`. */
export function upwardIn(rooms: readonly Room[]): string[] {
  return rooms.flatMap(({ name, may }, index) => {
    const above = rooms.slice(0, index).map((room) => room.name)
    return may.filter((other) => !above.includes(other)).map((other) => `${name} -> ${other}`)
  })
}

/** Every source file under a folder, with slashes on every system. Declarations only repeat what others declare. */
export function sourcesOn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|mts|js|mjs)$/.test(path) && !path.endsWith('.d.ts'))
    .map((path) => `${folder}/${path.split(sep).join('/')}`)
    .sort()
}

/** A bound for a hang, not an assertion, in ms: a busy machine cruises slowly. */
export const CRUISING = 180_000

export interface Cruise {
  /** `rule: file`, one entry a pair. */
  readonly violations: readonly string[]
  /** The files of src that were read. */
  readonly read: readonly string[]
}

/** Runs dependency-cruiser with this project's rules on a tree. */
export function cruise(root: string): Cruise {
  const command = bin('dependency-cruiser', 'depcruise')
  const args = [command, 'src', '--config', '.dependency-cruiser.mjs', '--output-type', 'json']
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1e8,
  })
  if (stdout === '') throw new Error(`dependency-cruiser said nothing but: ${stderr}`)
  const { modules, summary } = JSON.parse(stdout) as {
    modules: { source: string }[]
    summary: { violations: { from: string; rule: { name: string } }[] }
  }
  return {
    violations: [...new Set(summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`))].sort(),
    read: modules
      .map(({ source }) => source)
      .filter((source) => source.startsWith('src/'))
      .sort(),
  }
}
