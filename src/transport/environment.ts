import { WINDOWS } from './process-group.ts'

/** What the official SDK lets a server inherit, and the language and temporary folder: names that hold no secrets. */
const INHERITED = WINDOWS
  ? [
      'APPDATA',
      'COMSPEC',
      'HOMEDRIVE',
      'HOMEPATH',
      'LOCALAPPDATA',
      'PATH',
      'PATHEXT',
      'PROCESSOR_ARCHITECTURE',
      'PROGRAMDATA',
      'PROGRAMFILES',
      'PROGRAMFILES(X86)',
      'PROGRAMW6432',
      'SYSTEMDRIVE',
      'SYSTEMROOT',
      'TEMP',
      'TMP',
      'USERNAME',
      'USERPROFILE',
      'WINDIR',
    ]
  : ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'USER']

export type Environment = Readonly<Record<string, string | undefined>>

/** The environment of a child: the few inherited variables, and over them what its target names. */
export function childEnvironment(
  own: Readonly<Record<string, string>>,
  inherited: Environment,
): Record<string, string> {
  const environment: Record<string, string> = {}
  const named = new Set(Object.keys(own).map((name) => (WINDOWS ? name.toUpperCase() : name)))
  for (const name of INHERITED) {
    const value = inherited[name]
    // A value of this form is a function that a shell exported, and the next shell would run it.
    if (value !== undefined && !value.startsWith('()') && !named.has(name)) environment[name] = value
  }
  return { ...environment, ...own }
}
