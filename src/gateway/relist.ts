// Whether a list has really changed: some servers say so three times a second.
import type { Clock, Log } from '../base/index.ts'
import { asMcpxError, canonicalJson } from '../base/index.ts'
import type { ChangedList } from './changes.ts'
import { LISTS } from './lists.ts'
import type { ListKind, ServerLists } from './lists.ts'

export interface RelistOptions {
  readonly server: string
  readonly clock: Clock
  readonly log: Log
  readonly lists: () => Iterable<ServerLists>
  readonly tell: (kind: ChangedList) => void
}

/** The shortest time between two looks at a list, in ms. */
const PAUSE = 1000

/** Looks at the lists that are said to have changed, one look at a time and one more for all that was said meanwhile. */
export class Relist {
  readonly #options: RelistOptions
  readonly #looking = new Map<ChangedList, { again: boolean }>()

  constructor(options: RelistOptions) {
    this.#options = options
  }

  /** A list is said to have changed: tells on, once it is seen to be so. A list that nobody has seen cannot be compared. */
  changed(kind: ChangedList): void {
    const looking = this.#looking.get(kind)
    if (looking !== undefined) {
      looking.again = true
      return
    }
    void this.#look(kind)
  }

  async #look(kind: ChangedList): Promise<void> {
    const { clock, tell, log, server } = this.#options
    const state = { again: false }
    this.#looking.set(kind, state)
    try {
      if (await this.#differs(kind)) tell(kind)
    } catch (error) {
      log.debug('a list that is said to have changed cannot be had', {
        server,
        error: asMcpxError(error).message,
      })
    }
    clock.after(PAUSE, () => {
      this.#looking.delete(kind)
      if (state.again) this.changed(kind)
    })
  }

  async #differs(kind: ChangedList): Promise<boolean> {
    const kinds = (Object.keys(LISTS) as ListKind[]).filter((list) => LISTS[list].capability === kind)
    let seen = false
    let differs = false
    for (const lists of this.#options.lists()) {
      for (const list of kinds) {
        const before = lists.known(list)
        lists.invalidate(list)
        if (before === undefined) continue
        seen = true
        const now = await lists.get(list)
        differs ||= now !== before && canonicalJson(now.items) !== canonicalJson(before.items)
      }
    }
    return differs || !seen
  }
}
