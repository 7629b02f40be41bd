// What clients meet: one endpoint that serves both eras, over HTTP and over a pipe.
export { LOCAL_USER } from './contract.ts'
export type { EndpointAccess, EndpointLimits, EndpointOptions } from './contract.ts'
export { refusedAccess } from './access.ts'
export { HttpEndpoint } from './http.ts'
export { unread } from './refusals.ts'
export { serveStdio } from './stdio.ts'
export { createSealer } from './seal.ts'
export type { Sealer } from './seal.ts'
