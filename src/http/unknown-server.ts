import { McpxError, nearest } from '../base/index.ts'

/** The error for a name that the configuration does not have. */
export function unknownServer(name: string, names: readonly string[]): McpxError {
  const near = nearest(name, names)
  const advice =
    near === undefined ? `The servers are: ${names.join(', ') || 'none'}.` : `Did you mean "${near}"?`
  return new McpxError('SERVER_UNKNOWN', `There is no server "${name}" in the configuration. ${advice}`)
}
