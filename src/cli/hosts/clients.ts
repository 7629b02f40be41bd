// The programs whose files mcpx reads and writes: where they stand on each system, and where servers stand in them.
import { join } from 'node:path'

export type Platform = 'darwin' | 'win32' | 'linux'

export interface Surroundings {
  readonly platform: Platform
  readonly home: string
  /** The working folder: some files belong to a project. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** One file of a client, or one part of a file. */
export interface HostFile {
  readonly path: string
  /** The keys down to the object of servers. */
  readonly keys: readonly string[]
  /** The keys down to a list of names that the user has switched off. */
  readonly off?: readonly string[]
  /** The folder of the project that the file belongs to; without it it is the user's. */
  readonly project?: string
}

export interface HostClient {
  readonly id: string
  readonly title: string
  readonly format: 'json' | 'toml'
  /** Whether it replaces `${…}` itself; one that does not means those characters. */
  readonly variables: boolean
  /** What its entries need besides command and arguments. */
  readonly entry: Readonly<Record<string, string>>
  /** Its files, the user's own first: that one gets mcpx's entry. */
  files(here: Surroundings): readonly [HostFile, ...HostFile[]]
}

export const CLIENTS: readonly HostClient[] = [
  {
    ...{ id: 'claude-desktop', title: 'Claude Desktop', format: 'json', variables: false, entry: {} },
    files: (here) => [
      { path: join(appData(here), 'Claude', 'claude_desktop_config.json'), keys: ['mcpServers'] },
    ],
  },
  {
    ...{ id: 'claude-code', title: 'Claude Code', format: 'json', variables: true, entry: { type: 'stdio' } },
    files: (here) => {
      const path = join(named(here, 'CLAUDE_CONFIG_DIR') ?? here.home, '.claude.json')
      const project = ['projects', here.cwd]
      const off = [...project, 'disabledMcpServers']
      return [
        { path, off, keys: ['mcpServers'] },
        { path, off, keys: [...project, 'mcpServers'], project: here.cwd },
        { path: join(here.cwd, '.mcp.json'), keys: ['mcpServers'], project: here.cwd },
      ]
    },
  },
  {
    ...{ id: 'vscode', title: 'VS Code', format: 'json', variables: true, entry: { type: 'stdio' } },
    files: (here) => [
      { path: join(appData(here), 'Code', 'User', 'mcp.json'), keys: ['servers'] },
      { path: join(appData(here), 'Code', 'User', 'settings.json'), keys: ['mcp', 'servers'] },
      { path: join(here.cwd, '.vscode', 'mcp.json'), keys: ['servers'], project: here.cwd },
    ],
  },
  {
    ...{ id: 'cursor', title: 'Cursor', format: 'json', variables: true, entry: {} },
    files: (here) => [
      { path: join(here.home, '.cursor', 'mcp.json'), keys: ['mcpServers'] },
      { path: join(here.cwd, '.cursor', 'mcp.json'), keys: ['mcpServers'], project: here.cwd },
    ],
  },
  {
    ...{ id: 'windsurf', title: 'Windsurf', format: 'json', variables: true, entry: {} },
    files: ({ home }) => [
      { path: join(home, '.codeium', 'windsurf', 'mcp_config.json'), keys: ['mcpServers'] },
    ],
  },
  {
    ...{ id: 'zed', title: 'Zed', format: 'json', variables: false, entry: {} },
    files: (here) => [
      { path: join(zedFolder(here), 'settings.json'), keys: ['context_servers'] },
      { path: join(here.cwd, '.zed', 'settings.json'), keys: ['context_servers'], project: here.cwd },
    ],
  },
  {
    ...{ id: 'codex', title: 'Codex', format: 'toml', variables: false, entry: {} },
    files: (here) => [
      {
        path: join(named(here, 'CODEX_HOME') ?? join(here.home, '.codex'), 'config.toml'),
        keys: ['mcp_servers'],
      },
      { path: join(here.cwd, '.codex', 'config.toml'), keys: ['mcp_servers'], project: here.cwd },
    ],
  },
]

/** Where a system keeps what programs are told by their users; Electron's `appData`. */
function appData(here: Surroundings): string {
  if (here.platform === 'darwin') return join(here.home, 'Library', 'Application Support')
  if (here.platform === 'win32') return named(here, 'APPDATA') ?? join(here.home, 'AppData', 'Roaming')
  return named(here, 'XDG_CONFIG_HOME') ?? join(here.home, '.config')
}

/** Zed keeps to `~/.config` on macOS too. */
function zedFolder(here: Surroundings): string {
  if (here.platform === 'darwin') return join(here.home, '.config', 'zed')
  return join(appData(here), here.platform === 'win32' ? 'Zed' : 'zed')
}

function named({ env }: Surroundings, name: string): string | undefined {
  return env[name] === '' ? undefined : env[name]
}
