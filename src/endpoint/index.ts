// What clients meet: one endpoint that serves both eras, over HTTP and over a pipe.
export { LOCAL_CALLER, LOCAL_USER } from './contract.ts'
export type {
  BadCredential,
  CredentialFault,
  EndpointAccess,
  EndpointLimits,
  EndpointOptions,
  Outcome,
  Principals,
  RefusedFor,
} from './contract.ts'
export { admitCaller, admitStream, refusedPlace } from './admit.ts'
export type { Refused } from './admit.ts'
export { Quotas } from './quotas.ts'
export type { QuotaLimits } from './quotas.ts'
export { beginEventStream } from './event-stream.ts'
export { HttpEndpoint } from './http.ts'
export { tellRefused } from './outcome.ts'
export { unread } from './refusals.ts'
export { serveStdio } from './stdio.ts'
export type { PipeOptions } from './stdio.ts'
export { createSealer } from './seal.ts'
export type { Sealer } from '../wire/index.ts'
export { SseHost } from './sse-host.ts'
