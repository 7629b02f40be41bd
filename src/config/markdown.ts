// The documentation page of the configuration, made from the same tables as its validation.
import { CONFIG_FILE_NAMES } from './parse-file.ts'
import { PREFERENCES } from './preference.ts'
import { IGNORED_SERVER_KEYS, SERVER_KEYS } from './servers.ts'
import { flagName, SETTING_PATHS, SETTINGS, variableName } from './settings.ts'
import type { Setting } from './settings.ts'

/** The page's text, in Markdown, ending in a line feed. */
export function configMarkdown(): string {
  return `${[
    '# Configuration',
    '<!-- Made from the tables in the `config` room; edit those. -->',
    INTRODUCTION,
    '## Settings',
    'A value comes from the highest layer that has one: default, file, environment, flag, runtime. A change of a hot setting applies at once, of any other with the next start. A duration is a number of milliseconds or text such as `500ms`, `2s`, `1.5m`, `24h`, `7d`; a size is a number of bytes or text such as `64KiB`, `4MiB`. On a command line and in a variable, the items of a list are separated by commas.',
    table(['path', 'type', 'default', 'flag', 'variable', 'hot', 'description'], settingRows()),
    '## Servers',
    'Each member of `mcpServers` (or `servers`) describes one server. It has exactly one of `command` and `url`.',
    table(['key', 'type', 'description'], serverRows()),
    `These keys of other hosts are accepted and have no effect: ${IGNORED_SERVER_KEYS.map(code).join(', ')}.`,
    '## Variables',
    EXPANSION,
    '## Protocol preferences',
    "Values of `upstream.protocol` and of a server's `protocol`. Case does not matter; aliases are normalised.",
    table(['value', 'first request', 'aliases'], preferenceRows()),
  ].join('\n\n')}\n`
}

const INTRODUCTION = `mcpx reads one file: ${CONFIG_FILE_NAMES.map(code).join(', ')}, whichever it finds first from the working folder upward, then in the user's folder; \`MCPX_CONFIG\` or \`--config\` names one. The file is JSON; comments and trailing commas are allowed. An unknown key is an error.`

const EXPANSION =
  'In `command`, `args`, `env`, `envFile`, `cwd`, `url`, `headers` and the texts of `auth`: `${env:NAME}` and `${NAME}` are environment variables, `${NAME:-text}` has a default for one that is not set; `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}` and `${/}` are as in VS Code. A variable that is not set fails its server, not the others. `~` is not expanded.'

function settingRows(): string[][] {
  return SETTING_PATHS.map((path) => {
    const { type, default: value, hot, description }: Setting<unknown> = SETTINGS[path]
    const shown = type.write(value)
    return [
      code(path),
      type.name,
      shown === '' ? 'none' : code(shown),
      code(flagName(path)),
      code(variableName(path)),
      hot ? 'yes' : 'no',
      description,
    ]
  })
}

function serverRows(): string[][] {
  return Object.entries(SERVER_KEYS).map(([name, { type, description }]) => [
    code(name),
    type.name,
    description,
  ])
}

function preferenceRows(): string[][] {
  return Object.entries(PREFERENCES).map(([value, { opens, aliases }]) => [
    code(value),
    opens,
    aliases.length === 0 ? 'none' : aliases.map(code).join(', '),
  ])
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function code(text: string): string {
  return `\`${text}\``
}
