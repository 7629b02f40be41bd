// The layering rules, made from architecture/rooms.json. Edit the table, not the rules.
import { readFileSync } from 'node:fs'

const { rooms } = JSON.parse(readFileSync(new URL('architecture/rooms.json', import.meta.url), 'utf8'))
const within = (names) => `^src/(${names.join('|')})/`
const NPM = ['npm', 'npm-dev', 'npm-peer', 'npm-optional', 'npm-no-pkg', 'npm-unknown', 'unknown']

const roomRules = rooms.flatMap(({ name, may, node, npm }) => {
  const from = { path: `^src/${name}/` }
  const allowed = npm.length > 0 ? `node_modules/(@types/)?(${npm.join('|')})/|^(${npm.join('|')})$` : '^$'
  const rules = [
    {
      name: `${name}-imports`,
      comment: `${name} may import: ${may.join(', ') || 'nothing'}`,
      from,
      to: { path: '^src/', pathNot: [within([name, ...may])] },
    },
    {
      name: `${name}-npm`,
      comment: `${name} may use these packages: ${npm.join(', ') || 'none'}`,
      from,
      to: { dependencyTypes: NPM, pathNot: allowed },
    },
  ]
  if (!node) {
    rules.push({
      name: `${name}-no-node`,
      comment: `${name} does no I/O`,
      from,
      to: { dependencyTypes: ['core'] },
    })
  }
  return rules
})

const houseRules = [
  { name: 'no-cycle', comment: 'no file imports itself by way of others', from: {}, to: { circular: true } },
  {
    name: 'front-door',
    comment: 'another room is entered through its index.ts',
    from: { path: '^src/([^/]+)/' },
    to: { path: '^src/[^/]+/.+', pathNot: ['^src/$1/', '^src/[^/]+/index[.]ts$'] },
  },
  {
    name: 'known-room',
    comment: 'every folder of src is a room of the table',
    from: { path: '^src/[^/]+/', pathNot: within(rooms.map((room) => room.name)) },
    to: {},
  },
  {
    name: 'src-never-sees-tests',
    comment: 'the product does not depend on what tests it',
    from: { path: '^src/' },
    to: { path: '^(test|bench|examples|scripts)/' },
  },
]

export default {
  forbidden: [...houseRules, ...roomRules].map((rule) => ({ severity: 'error', ...rule })),
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '[.]d[.]ts$' },
  },
}
