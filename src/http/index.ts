// The daemon's listener: the endpoint and the REST interface on one port.
export { listen } from './listener.ts'
export type { Listener } from './listener.ts'
export { reportProtocol, reportServer, reportServers } from './report.ts'
export type { ErrorReport, ProtocolReport, ServerReport } from './report.ts'
export { EventLog } from './events.ts'
export { listenSocket } from './socket.ts'
export type { SocketListener } from './socket.ts'
export { unknownServer } from './unknown-server.ts'
