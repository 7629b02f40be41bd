/** What one protocol revision says. Facts only: no functions, no defaults, no policy. */
export type Era = 'legacy' | 'modern'

export interface RevisionFacts {
  readonly id: string
  readonly era: Era
  /** The request that a client opens with. */
  readonly opening: 'initialize' | 'server/discover'
  readonly http: HttpFacts
  /** How a server asks its client: by requests of its own, or by results that name what is missing. */
  readonly asks: 'by-request' | 'by-result'
  readonly methods: Readonly<Record<string, MethodFacts>>
  /** JSON-RPC error codes that this revision gives a meaning. */
  readonly errors: Readonly<Record<string, number>>
}

export interface HttpFacts {
  readonly transport: 'http+sse' | 'streamable-http'
  /** Whether `Mcp-Session-Id` ties requests together. */
  readonly sessions: boolean
  /** Whether a request names its revision in `MCP-Protocol-Version`. */
  readonly versionHeader: 'absent' | 'after-initialize' | 'required'
  /** Whether `Mcp-Method` and `Mcp-Name` repeat what the body says. */
  readonly methodHeaders: boolean
  readonly batches: boolean
  /** Whether a GET opens a stream for what belongs to no request. */
  readonly getStream: boolean
  /** Whether a broken stream can be gone on with by `Last-Event-ID`; `primed` ones begin with an empty event, for its id. */
  readonly resumable: 'never' | 'by-event-id' | 'primed'
  /** How a client gives a request up. */
  readonly cancelBy: 'notification' | 'closing-the-stream'
}

export interface MethodFacts {
  readonly kind: 'request' | 'notification'
  readonly sentBy: 'client' | 'server' | 'either'
  /** Dotted path of the capability that the receiver of a request, or the sender of a notification, must have declared. */
  readonly capability?: string
  /** The parameter that `Mcp-Name` repeats. */
  readonly nameFrom?: 'name' | 'uri' | 'taskId'
  /** The member of the result that holds the items of a list that comes in pages. */
  readonly lists?: 'tools' | 'prompts' | 'resources' | 'resourceTemplates' | 'tasks' | 'skills'
  /** The member of the result that holds content, where that is not a list. */
  readonly carries?: 'content' | 'messages' | 'contents'
  /** Whether complete results carry caching hints. */
  readonly cacheable?: true
  /** Whether answering may need something from the client first. */
  readonly mayAsk?: true
}
