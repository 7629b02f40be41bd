// Outlives mcpx to end what mcpx leaves behind when it is killed. A script of its own, without imports from the project:
// it starts in the milliseconds that a process group may be unguarded.
//
// stdin holds lines: `+<pid>` for a group to guard, `-<pid>` for one that is gone. When stdin ends, mcpx is gone, and every
// group left is sent SIGTERM and, three seconds later, SIGKILL.
import { spawnSync } from 'node:child_process'

const WINDOWS = process.platform === 'win32'
const PATIENCE_MS = 3000
const POLL_MS = 50

/** @type {Set<number>} */
const groups = new Set()
let unread = ''

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => undefined)

process.stdin.setEncoding('latin1')
process.stdin.on('data', (/** @type {string} */ text) => {
  const lines = (unread + text).split('\n')
  unread = lines.pop() ?? ''
  for (const line of lines) take(line)
})
process.stdin.on('error', endAll)
process.stdin.on('end', endAll)

/** @param {string} line */
function take(line) {
  const pid = Number(line.slice(1))
  // Signalling the groups 0 and 1 would reach processes that were never ours.
  if (!Number.isInteger(pid) || pid <= 1) return
  if (line.startsWith('+')) groups.add(pid)
  else groups.delete(pid)
}

function endAll() {
  let left = [...groups].filter((pid) => signal(pid, 'SIGTERM'))
  const deadline = Date.now() + PATIENCE_MS
  const look = () => {
    left = left.filter((pid) => signal(pid, 0))
    if (left.length > 0 && Date.now() < deadline) return setTimeout(look, POLL_MS)
    for (const pid of left) signal(pid, 'SIGKILL')
    return process.exit()
  }
  look()
}

/**
 * Signals a group; false when it is gone.
 * @param {number} pid
 * @param {NodeJS.Signals | 0} name
 */
function signal(pid, name) {
  if (WINDOWS) {
    spawnSync('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true })
    return false
  }
  try {
    process.kill(-pid, name)
    return true
  } catch {
    return false
  }
}
