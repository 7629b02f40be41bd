/** Where mcpx writes what happened. The first argument is a sentence, the second its facts; neither may hold a secret. */
export interface Log {
  debug(message: string, facts?: Record<string, unknown>): void
  info(message: string, facts?: Record<string, unknown>): void
  warn(message: string, facts?: Record<string, unknown>): void
  error(message: string, facts?: Record<string, unknown>): void
}

export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} }
