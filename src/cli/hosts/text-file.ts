// Text files that people write too: what is not changed stays byte for byte.
import { readFileSync } from 'node:fs'
import writeFileAtomic from 'write-file-atomic'
import { McpxError } from '../../base/index.ts'
import { whileLocked } from '../locked.ts'

/** A file's text without its byte order mark, which is put back when it is written. */
export interface TextFile {
  readonly text: string
  readonly mark: '' | '\uFEFF'
}

/** Reads UTF-8; undefined where there is no file. Throws CONFIG_INVALID for what cannot be read, or is not UTF-8. */
export function readText(path: string): TextFile | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new McpxError('CONFIG_INVALID', `${path} cannot be read (${code}).`, { cause: error })
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new McpxError('CONFIG_INVALID', `${path} is not UTF-8. Save it as UTF-8, then try again.`, {
      cause,
    })
  }
  return text.startsWith('\uFEFF') ? { text: text.slice(1), mark: '\uFEFF' } : { text, mark: '' }
}

/**
 * Writes the whole file at once, through a symbolic link to what it names, with the permissions and owner that the file has; a
 * new one only its owner may read, since it may come to hold secrets. Throws CONFIG_INVALID.
 */
export async function writeText(path: string, { text, mark }: TextFile, like?: number): Promise<void> {
  try {
    // Without a mode the file's own is kept.
    await writeFileAtomic(path, mark + text, likeOf(path, like))
  } catch (error) {
    const advice = 'Nothing of it was changed: may you write there?'
    throw new McpxError('CONFIG_INVALID', `${path} cannot be written (${codeOf(error)}). ${advice}`, {
      cause: error,
    })
  }
}

/** Changes a file with no other mcpx changing it meanwhile; where the change returns undefined, nothing is written. */
export async function changeText(
  path: string,
  change: (file: TextFile | undefined) => string | undefined | Promise<string | undefined>,
): Promise<void> {
  await whileLocked(path, async () => {
    const file = readText(path)
    const text = await change(file)
    if (text !== undefined && text !== file?.text) await writeText(path, { text, mark: file?.mark ?? '' })
  })
}

function likeOf(path: string, like: number | undefined): { mode?: number } {
  if (like !== undefined) return { mode: like }
  return readText(path) === undefined ? { mode: 0o600 } : {}
}

function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error) return String(error.code)
  return error instanceof Error ? error.message : String(error)
}
