// mcpx's own entry in a client's file, and out of it again.
import { rmSync, statSync } from 'node:fs'
import { canonicalJson, isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import type { HostClient } from './clients.ts'
import { readJson, valueAt, withoutValue, withValue } from './json-text.ts'
import type { Place } from './json-text.ts'
import { isOwn, OWN_NAME } from './own-entry.ts'
import { changeText, readText, writeText } from './text-file.ts'
import type { TextFile } from './text-file.ts'
import { readToml, withoutTable, withTable } from './toml-text.ts'

export interface Target {
  readonly path: string
  /** The keys down to the object of servers. */
  readonly keys: readonly string[]
  readonly format: HostClient['format']
  /** Whether an entry of mcpx's name that is none of mcpx gives way. */
  readonly force: boolean
}

export type Installed = 'installed' | 'updated' | 'present'
/** `restored` is the file as it was, byte for byte; `deleted` a file that the installation had made. */
export type Undone = 'restored' | 'deleted' | 'removed' | 'absent'

/** Where the file as it was is kept. */
export function backupOf(path: string): string {
  return `${path}.mcpx-backup`
}

/** Throws NAME_CLASH, CONFIG_SYNTAX and CONFIG_INVALID; then nothing is changed. */
export async function install(target: Target, entry: JsonObject): Promise<Installed> {
  let status: Installed = 'installed'
  const { path } = target
  await changeText(path, async (file) => {
    const there = entryIn(file?.text ?? '', target)
    if (canonicalJson(there ?? null) === canonicalJson(entry)) {
      status = 'present'
      return undefined
    }
    if (there !== undefined) {
      refuseForeign(there, target)
      status = 'updated'
    }
    const text = put(file?.text ?? '', entry, target)
    // A backup from before mcpx stays what an undo goes back to.
    const kept = there !== undefined && readText(backupOf(path)) !== undefined
    if (file !== undefined && !kept) await writeText(backupOf(path), file, statSync(path).mode & 0o777)
    return text
  })
  return status
}

/** Throws as `install` does. */
export async function uninstall(target: Target): Promise<Undone> {
  let status: Undone = 'absent'
  const { path } = target
  await changeText(path, (file) => {
    const there = entryIn(file?.text ?? '', target)
    if (file === undefined || there === undefined) return undefined
    refuseForeign(there, target)
    const backup = readText(backupOf(path))
    if (backup !== undefined && backup.mark === file.mark && leadsTo(backup, file, { there, target })) {
      status = 'restored'
      return backup.text
    }
    if (backup === undefined && leadsTo({ text: '', mark: '' }, file, { there, target })) {
      status = 'deleted'
      rmSync(path)
      return undefined
    }
    status = 'removed'
    return take(file.text, target)
  })
  if ((status as Undone) === 'restored') rmSync(backupOf(path), { force: true })
  return status
}

interface Step {
  readonly there: JsonObject
  readonly target: Target
}

/** Whether the file is what the installation made of the other one, so that nothing of anybody else's is lost. */
function leadsTo(from: TextFile, file: TextFile, { there, target }: Step): boolean {
  return put(from.text, there, target) === file.text
}

function entryIn(text: string, { path, keys, format }: Target): JsonObject | undefined {
  const whole = format === 'toml' ? readToml(text, path) : readJson(text, path)
  const entry = valueAt(whole, [...keys, OWN_NAME])
  return entry === undefined || isObject(entry) ? entry : { value: entry }
}

function put(text: string, entry: JsonObject, target: Target): string {
  return target.format === 'toml'
    ? withTable(text, entry, placeOf(target))
    : withValue(text, entry, placeOf(target))
}

function take(text: string, target: Target): string {
  return target.format === 'toml' ? withoutTable(text, placeOf(target)) : withoutValue(text, placeOf(target))
}

function placeOf({ path, keys }: Target): Place {
  return { path, keys: [...keys, OWN_NAME] }
}

function refuseForeign(entry: JsonObject, { path, force }: Target): void {
  if (force || isOwn(OWN_NAME, entry)) return
  throw new McpxError(
    'NAME_CLASH',
    `${path} has a server called "${OWN_NAME}" that is not mcpx. Rename it there, or let it give way with --force.`,
  )
}
