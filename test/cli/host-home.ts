// A home folder that holds the fixture files of clients, where each client keeps its own on this system.
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CLIENTS } from '../../src/cli/hosts/clients.ts'
import type { Surroundings } from '../../src/cli/hosts/clients.ts'
import { fixturePath, openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'

export interface Home extends Workspace {
  /** The user's own file of each client, by the client's id. */
  readonly files: Readonly<Record<string, string>>
}

/** `ids` are the clients that have a file. */
export async function openHome(ids: readonly string[] = CLIENTS.map(({ id }) => id)): Promise<Home> {
  const env: Record<string, string> = {}
  const workspace = await openWorkspace(undefined, env)
  const home = workspace.file('home')
  mkdirSync(home)
  Object.assign(env, {
    ...{ HOME: home, USERPROFILE: home, APPDATA: workspace.file('home/data'), CODEX_HOME: '' },
    ...{ XDG_CONFIG_HOME: workspace.file('home/config'), CLAUDE_CONFIG_DIR: '', MCPX_CONFIG: '' },
  })
  const { platform } = process
  const here: Surroundings = {
    platform: platform === 'darwin' || platform === 'win32' ? platform : 'linux',
    ...{ home, cwd: realpathSync(dirname(home)), env },
  }
  const files = Object.fromEntries(CLIENTS.map((client) => [client.id, client.files(here)[0].path]))
  for (const id of ids) {
    const path = files[id] ?? ''
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, hostFixture(id, here.cwd))
  }
  const command: Workspace['command'] = (...args) => {
    const made = workspace.command(...args)
    return { ...made, env: { ...made.env, ...env } }
  }
  return { ...workspace, command, files }
}

function hostFixture(id: string, cwd: string): string {
  const name = `../fixtures/hosts/${id}.${id === 'codex' ? 'toml' : 'json'}`
  const inQuotes = (text: string) => JSON.stringify(text).slice(1, -1)
  return readFileSync(fileURLToPath(new URL(name, import.meta.url)), 'utf8')
    .replaceAll('@SERVER@', inQuotes(fixturePath('legacy-stdio')))
    .replaceAll('@CWD@', inQuotes(cwd))
}
