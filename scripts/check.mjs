// Everything that must hold of the sources besides the tests. One line a step; the output of a step that fails follows it.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)

/** The path of a package's command, found through its package.json so that no shell is needed on any system. */
function bin(pkg, name = pkg) {
  const manifest = findManifest(pkg)
  const { bin: commands } = require(manifest)
  return join(dirname(manifest), typeof commands === 'string' ? commands : commands[name])
}

function findManifest(pkg) {
  for (const folder of require.resolve.paths(pkg) ?? []) {
    const candidate = join(folder, pkg, 'package.json')
    try {
      return require.resolve(candidate)
    } catch {
      continue
    }
  }
  throw new Error(`${pkg} is not installed: run npm ci`)
}

const steps = [
  ['types', bin('typescript', 'tsc'), '-p', 'tsconfig.json'],
  ['types of the pure rooms', bin('typescript', 'tsc'), '-p', 'tsconfig.pure.json'],
  ['lint', bin('oxlint'), '--type-aware', '--deny-warnings', '--report-unused-disable-directives'],
  ['format', bin('prettier'), '--check', '--log-level', 'warn', '.'],
  ['layering', bin('dependency-cruiser', 'depcruise'), 'src', '--config', '.dependency-cruiser.mjs'],
  ['dead code', bin('knip'), '--no-progress'],
  ['package', bin('publint'), '--strict'],
]

let failed = 0
for (const [name, ...command] of steps) {
  const run = spawnSync(process.execPath, command, { encoding: 'utf8' })
  const ok = run.status === 0
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name}`)
  if (!ok) {
    failed++
    console.log(`${run.stdout}${run.stderr}`.trimEnd())
  }
}
process.exitCode = failed === 0 ? 0 : 1
