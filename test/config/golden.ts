// Reads and judges the golden files: a configuration file above a line of ten dashes, what becomes of it below.
import { readdirSync, readFileSync } from 'node:fs'
import { McpxError } from '../../src/base/index.ts'
import { parseConfigFile } from '../../src/config/index.ts'

export interface GoldenCase {
  readonly name: string
  readonly input: string
  readonly expected: string
}

const FOLDER = new URL('../golden/config/', import.meta.url)

export function goldenCases(): readonly GoldenCase[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.txt'))
    .sort()
    .map((file) => {
      const text = readFileSync(new URL(file, FOLDER), 'utf8').replaceAll('\r\n', '\n')
      const [input = '', expected = ''] = text.split('\n----------\n')
      return { name: file.slice(0, -4), input, expected }
    })
}

/** The normalised file as JSON, or the failure's code and message. */
export function outcomeOf(input: string): string {
  try {
    const { servers, ...rest } = parseConfigFile(input, { path: 'mcpx.json' })
    return `${JSON.stringify({ servers: Object.fromEntries(servers), ...rest }, undefined, 2)}\n`
  } catch (error) {
    if (error instanceof McpxError) return `${error.code} ${error.message}\n`
    throw error
  }
}
