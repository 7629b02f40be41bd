// The secret sweep of a test run: what authorization servers granted in any test is searched for in all that mcpx said in any.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const LISTENER = pathToFileURL(join(import.meta.dirname, 'listener.mjs')).href
/** Where fixtures write down each secret, a line each. */
export const SECRETS = 'secrets'

export interface Leak {
  readonly secret: string
  /** What was said around it. */
  readonly said: string
}

/** Has every process listened to from now on; its answer ends that, and throws when a secret was said. */
export async function listenForSecrets(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'mcpx-said-'))
  process.env['MCPX_SAID_DIR'] = folder
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --import=${LISTENER}`.trim()
  return async () => {
    const { secrets, bytes, leaks } = await leaksIn(folder)
    await rm(folder, { recursive: true, force: true })
    if (leaks.length > 0)
      throw new Error(`secret sweep: ${leaks.map(({ secret, said }) => `${secret} in …${said}…`).join('\n')}`)
    if (secrets > 0)
      console.log(`secret sweep: none of ${secrets} secrets in ${Math.ceil(bytes / 1024)} KiB that mcpx said`)
  }
}

/** Searches what a folder has. */
export async function leaksIn(folder: string): Promise<{ secrets: number; bytes: number; leaks: Leak[] }> {
  const listed = await readFile(join(folder, SECRETS), 'utf8').catch(() => '')
  const secrets = [...new Set(listed.split('\n').filter(Boolean))]
  const leaks: Leak[] = []
  let bytes = 0
  for (const name of await readdir(folder)) {
    if (name === SECRETS) continue
    const said = await readFile(join(folder, name), 'utf8')
    bytes += said.length
    for (const secret of secrets) {
      const at = said.indexOf(secret)
      if (at >= 0) leaks.push({ secret, said: said.slice(Math.max(0, at - 100), at + secret.length + 20) })
    }
  }
  return { secrets: secrets.length, bytes, leaks }
}
