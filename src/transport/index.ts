// Bytes and sockets to upstream servers: child processes, Streamable HTTP, HTTP+SSE.
export { systemClock } from './clock.ts'
export { createDialer } from './dialer.ts'
export type { DialerOptions, OwningDialer } from './dialer.ts'
export type { Limits, Patience } from './options.ts'
