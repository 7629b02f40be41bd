// Everything that must hold of the sources besides the tests. One line a step; the output of a step that fails follows it.
import { spawnSync } from 'node:child_process'
import { bin } from './bin.mjs'

/** @type {[name: string, ...command: string[]][]} */
const steps = [
  ['build', 'scripts/build.mjs'],
  ['types', bin('typescript', 'tsc'), '-p', 'tsconfig.json'],
  ['types of the pure rooms', bin('typescript', 'tsc'), '-p', 'tsconfig.pure.json'],
  ['lint', bin('oxlint'), '--type-aware', '--deny-warnings', '--report-unused-disable-directives'],
  ['format', bin('prettier'), '--check', '--log-level', 'warn', '.'],
  [
    'layering',
    bin('dependency-cruiser', 'depcruise'),
    'src',
    '--config',
    '.dependency-cruiser.mjs',
    '--output-type',
    'err-long',
  ],
  ['documents', 'scripts/docs.mjs', '--check'],
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
