// Opens an address in the browser of whoever sits at this machine.
import { spawn } from 'node:child_process'

/** Does not wait, and says nothing where there is no browser: the address has been printed. `BROWSER` names another program. */
export function openBrowser(
  url: string,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): void {
  const [command, ...args] = openerOf(env, platform)
  try {
    // No shell: the address is a stranger's text.
    const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    child.on('error', () => {})
    child.unref()
  } catch {
    // There is no such program.
  }
}

function openerOf({ BROWSER: named }: NodeJS.ProcessEnv, platform: NodeJS.Platform): [string, ...string[]] {
  if (named !== undefined && named !== '') return [named]
  if (platform === 'darwin') return ['open']
  return platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open']
}
