// Which era an upstream speaks (the probe) and which era a message from a client belongs to (inbound).
export { checkModern, classifyInbound, headerValues, markerOf } from './inbound.ts'
export type { Classification, InboundHeaders, Refusal } from './inbound.ts'
export { describeClose, stderrOf, stderrTail } from './probe-errors.ts'
export { advance, createProbe } from './probe.ts'
export type { ProbeEvent } from './probe.ts'
export type { ProbeState, Step } from './probe-state.ts'
export { isModernError, readDiscover } from './read-discover.ts'
export type { DiscoverReading } from './read-discover.ts'
export { describeAnswer } from './read-failure.ts'
export { formatRecords, parseRecords } from './record-file.ts'
export type { EraMemory, EraRecord } from './record.ts'
export type {
  ProbeEffect,
  ProbePlan,
  ProbeTimer,
  Question,
  Remembered,
  Verdict,
  VerdictSource,
} from './verdict.ts'
