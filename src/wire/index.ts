// JSON-RPC messages, their framing, their headers, their spelling in each revision, and the contracts that carry them.
export type { Authorizer, Refusal } from './authorizer.ts'
export type { Ask, Call, Caller, CallHandler, Remark } from './call.ts'
export { answerable, capabilityFor, carriedExtensions, EVERY_ANSWER, whyNot } from './client-capabilities.ts'
export type {
  Channel,
  ChannelListener,
  CloseReason,
  Dialer,
  HttpTarget,
  SendFailure,
  StdioTarget,
  Target,
  TransportKind,
} from './channel.ts'
export { enveloped, progressTokenOf, repeatingHeaders, versionHeader } from './envelope.ts'
export type { Envelope } from './envelope.ts'
export { decodeHeaderValue, encodeHeaderValue } from './header-codec.ts'
export { lowerError, raiseError } from './error-shape.ts'
export { lower, lowerCapabilities, lowerImplementation, lowerNotification } from './lower.ts'
export { lowerQuestion, lowerReply } from './lower-question.ts'
export type { QuestionTarget } from './lower-question.ts'
export { answerOf, shapeOf } from './message.ts'
export type {
  Answer,
  Id,
  RpcError,
  RpcFailure,
  RpcMessage,
  RpcNotification,
  RpcRequest,
  RpcResponse,
  RpcResult,
  Shape,
} from './message.ts'
export { createLineFramer, DEFAULT_MAX_MESSAGE } from './ndjson.ts'
export type { LineFramer, LineSink, OversizeLine } from './ndjson.ts'
export { answeredBy } from './oversize.ts'
export { paramHeaderFault, paramHeadersOf, readParamHeaders } from './param-headers.ts'
export type { ParamHeader, ParamHeaders } from './param-headers.ts'
export { isQuestion, readInputRequired, readQuestions } from './question.ts'
export type { InputRequired, Question } from './question.ts'
export { raiseQuestion, raiseReply } from './raise-question.ts'
export { raise } from './raise.ts'
export type { Sealer } from './sealer.ts'
export { formatComment, formatSse, SSE_HEADERS } from './sse.ts'
