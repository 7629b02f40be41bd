// The daemon's listener: the endpoint and the REST interface on one port.
export { listen } from './listener.ts'
export type { Listener } from './listener.ts'
export { reportProtocol, reportServer, reportServers } from './report.ts'
export type { ErrorReport, ProtocolReport, ServerReport } from './report.ts'
export { unknownServer } from './v1.ts'
