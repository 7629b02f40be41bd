// What the callers of one server need of its instances.
import { canonicalJson } from '../base/index.ts'
import { declaredFor } from './need.ts'
import type { Need } from './need.ts'
import type { ServerSpec } from './server-spec.ts'
import type { LeaseFor } from './shared.ts'

export class Needs {
  readonly #spec: ServerSpec
  #calls = 0

  constructor(spec: ServerSpec) {
    this.#spec = spec
  }

  /** `alone` where calls of other principals may not be on the instance meanwhile. */
  of(who: LeaseFor, alone: boolean): Need {
    const owner = this.#scopeKey(who)
    const { principal } = who
    const key = `${owner}\n${this.#credentialOf(who)}`
    return { owner, principal, alone, key, declared: this.#declaredTo(who) }
  }

  /** Whose instance a caller gets; undefined where it is everybody's, or only this call's. */
  ownerOf(who: LeaseFor): string | undefined {
    const { scope } = this.#spec
    const own = scope === 'principal' || (scope === 'session' && who.session !== undefined)
    return own ? this.#scopeKey(who) : undefined
  }

  /** Equal for callers who may share what the server tells one of them, its lists for one. */
  sharing(who: LeaseFor): string {
    const owner = this.#spec.scope === 'global' ? '' : who.principal
    const extensions = who.answers?.['extensions']
    const key = `${owner}\n${this.#credentialOf(who)}\n${this.#declaredTo(who).key}`
    return extensions === undefined ? key : `${key}\n${canonicalJson(extensions)}`
  }

  #credentialOf({ principal }: LeaseFor): string {
    return this.#spec.credentialOf?.(principal) ?? ''
  }

  #declaredTo({ answers = {} }: LeaseFor): Need['declared'] {
    const { scope, transport, roots = false, tuning } = this.#spec
    return declaredFor({ scope, transport, roots, mirroring: tuning().mirroring ?? 'auto' }, answers)
  }

  #scopeKey(who: LeaseFor): string {
    switch (this.#spec.scope) {
      case 'global':
        return ''
      case 'principal':
        return `principal ${who.principal}`
      case 'session':
        // Without a session the nearest thing that shares less is the call itself.
        return who.session === undefined ? `call ${++this.#calls}` : `session ${who.session}`
      case 'call':
        return `call ${++this.#calls}`
    }
  }
}
