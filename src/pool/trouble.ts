// What an outcome says about the connection that it came from: whether its verdict still holds, and whether the request may
// be sent again. A request that may have run is never sent twice.
import { McpxError } from '../base/index.ts'
import type { Verdict } from '../era/index.ts'
import { isModernError } from '../era/index.ts'
import { ERRORS, METHOD, methodIn, newest } from '../spec/index.ts'
import type { Answer } from '../wire/index.ts'

/** What to do after an outcome. */
export interface Remedy {
  /** Leave the connection; the next call opens another one. */
  readonly leave: boolean
  /** What is remembered of the server's era is doubtful: the next start looks again. */
  readonly doubt: boolean
  /** Send the same request once more, on another connection. */
  readonly resend: boolean
}

const NOTHING: Remedy = { leave: false, doubt: false, resend: false }

/** The remedy for what came of a request; `undefined` where nothing is wrong with the connection. */
export function remedyFor(
  outcome: { readonly answer: Answer } | { readonly error: unknown },
  verdict: Verdict,
  method: string,
): Remedy | undefined {
  const remedy =
    'answer' in outcome ? afterAnswer(outcome.answer, verdict) : afterError(outcome.error, verdict, method)
  return remedy.leave || remedy.resend ? remedy : undefined
}

/** A legacy session whose server now knows modern errors was upgraded under mcpx's feet, and refused before it ran anything. */
function afterAnswer(answer: Answer, verdict: Verdict): Remedy {
  if (!('error' in answer) || !isModernError(answer.error)) return NOTHING
  const { code } = answer.error
  if (code === ERRORS.missingClientCapability) return NOTHING
  // On a modern connection the headers of one call were wrong, which whoever made them can mend.
  if (code === ERRORS.headerMismatch && verdict.era === 'modern') return NOTHING
  return {
    leave: true,
    doubt: verdict.era === 'legacy' || code === ERRORS.unsupportedProtocolVersion,
    resend: true,
  }
}

function afterError(error: unknown, verdict: Verdict, method: string): Remedy {
  if (!(error instanceof McpxError)) return NOTHING
  const { ran, status } = error.data
  const safe = isSafe(method)
  switch (error.code) {
    case 'UPSTREAM_CLOSED':
    case 'UPSTREAM_UNREACHABLE':
      return { leave: true, doubt: false, resend: ran === 'no' || safe }
    case 'HTTP_STATUS': {
      if (typeof status !== 'number' || status < 400 || status >= 500) return NOTHING
      // A session that is not found says nothing of the era; any other 4xx without a modern error is a legacy server's.
      const lost = status === 404 && verdict.era === 'legacy'
      const demoted = verdict.era === 'modern'
      return lost || demoted ? { leave: true, doubt: demoted, resend: lost || safe } : NOTHING
    }
    default:
      return NOTHING
  }
}

/** What changes nothing, however often it is asked. */
function isSafe(method: string): boolean {
  return method === METHOD.ping || methodIn(newest(), method)?.cacheable === true
}
