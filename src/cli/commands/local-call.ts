// Calls that come from the command line itself: modern, of the local user, and with nobody to ask.
import { Cancellation } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { LOCAL_USER } from '../../endpoint/index.ts'
import { newest } from '../../spec/index.ts'
import type { Call } from '../../wire/index.ts'

export function localCall(method: string, params: JsonObject): Call {
  return {
    method,
    params,
    caller: {
      revision: newest(),
      clientInfo: undefined,
      capabilities: {},
      principal: LOCAL_USER,
      session: undefined,
    },
    cancellation: new Cancellation(),
    asked: 'by-result',
    wantsProgress: false,
    logLevel: undefined,
    notify() {},
  }
}
