import { clip, McpxError, nearest } from '../base/index.ts'

export type NamedList = 'tools' | 'prompts'

/** A name that nobody has, with the known one that was likely meant. */
export function unknown(kind: NamedList, name: unknown, known: readonly string[]): McpxError {
  const [code, noun] =
    kind === 'tools' ? (['TOOL_UNKNOWN', 'tool'] as const) : (['PROMPT_UNKNOWN', 'prompt'] as const)
  if (typeof name !== 'string') return new McpxError(code, `Unknown ${noun}: params.name must be a string`)
  const near = nearest(name, known)
  return new McpxError(
    code,
    `Unknown ${noun}: ${clip(name)}${near === undefined ? '' : `. Did you mean ${near}?`}`,
  )
}
