// Compiles src/ into dist/. Runs tsc only when a source is newer than what was built from it.
import { chmodSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
if (process.argv.includes('--clean')) rmSync('dist', { recursive: true, force: true })
const run = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
if (run.status === 0) chmodSync('dist/cli/main.js', 0o755)
process.exitCode = run.status ?? 1
