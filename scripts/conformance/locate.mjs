// Run by npx: says where the suite is, and which Node npx found. npx puts the commands of its packages first on the path.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const suites = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, '..', '@modelcontextprotocol', 'conformance', 'dist', 'index.js'))
console.log(JSON.stringify({ node: process.execPath, suite: suites.find((path) => existsSync(path)) }))
