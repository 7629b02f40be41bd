// Where mcpx keeps things, on each system.
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/** The folder of what mcpx remembers. `MCPX_STATE_DIR` moves it. */
export function stateDir(env: Environment, platform: NodeJS.Platform = process.platform): string {
  const named = env['MCPX_STATE_DIR']
  if (named !== undefined && named !== '') return resolve(named)
  if (platform === 'win32') return join(env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'mcpx')
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'mcpx')
  return join(env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state'), 'mcpx')
}

/** The configuration that holds for a user, whatever the working folder. */
export function userConfigFile(env: Environment, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32')
    return join(env['APPDATA'] ?? join(homedir(), 'AppData', 'Roaming'), 'mcpx', 'mcpx.json')
  return join(env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'mcpx', 'mcpx.json')
}
