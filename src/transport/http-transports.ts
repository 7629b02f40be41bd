// What needs the HTTP client, loaded together and only when a server has a URL.
export { createAgents } from './agents.ts'
export { fetchBounded } from './fetch.ts'
export { openHttpSse } from './http-sse.ts'
export { openHttp } from './http.ts'
