// Which calls of a server ask their caller something on the way: said by the configuration, or learned.

/** What was seen of a question: whose it certainly was, or among whose it was. */
export type Sighting = { readonly exact: string } | { readonly among: readonly string[] }

/** Subjects that are remembered of one server; further ones are not. */
const MAX_SUBJECTS = 500

export class AskMemory {
  readonly #configured: ReadonlySet<string>
  readonly #recall: () => readonly string[]
  readonly #remember: (subjects: readonly string[]) => void
  readonly #certain = new Set<string>()
  /** Those that were seen together when one of them asked. */
  readonly #groups: ReadonlySet<string>[] = []
  #aside = false

  /** `recall` and `remember` keep what is learned between starts. */
  constructor(
    configured: readonly string[],
    memory: {
      readonly recall: () => readonly string[]
      readonly remember: (subjects: readonly string[]) => void
    },
  ) {
    this.#configured = new Set(configured)
    this.#recall = memory.recall
    this.#remember = memory.remember
  }

  /** Whether a call of that subject is known, or suspected, to ask. */
  has(subject: string): boolean {
    return this.#configured.has(subject) || this.#recall().includes(subject)
  }

  /** Whether a question came by another way than the stream of the call that asked, so that only order tells whose it is. */
  get aside(): boolean {
    return this.#aside
  }

  /** Learns from a question. One that is certain clears those that were suspected beside its subject. */
  learn(sighting: Sighting, where: 'own-stream' | 'aside'): void {
    if (where === 'aside') this.#aside = true
    if ('among' in sighting) return this.#suspect(sighting.among)
    const { exact } = sighting
    const cleared = this.#clear(exact)
    if (this.#certain.has(exact) && cleared.size === 0) return
    if (this.#certain.size < MAX_SUBJECTS) this.#certain.add(exact)
    const kept = this.#recall().filter((subject) => subject !== exact && !cleared.has(subject))
    this.#remember([...kept, exact].slice(-MAX_SUBJECTS))
  }

  #suspect(subjects: readonly string[]): void {
    const fresh = subjects.filter((subject) => !this.#certain.has(subject))
    if (fresh.length === 0) return
    if (this.#groups.length < MAX_SUBJECTS) this.#groups.push(new Set(fresh))
    this.#remember([...new Set([...this.#recall(), ...fresh])].slice(-MAX_SUBJECTS))
  }

  /** Suspects that stood in a group with the subject and in no other one. */
  #clear(subject: string): ReadonlySet<string> {
    const cleared = new Set<string>()
    for (let i = this.#groups.length - 1; i >= 0; i--) {
      const group = this.#groups[i]
      if (group?.has(subject) !== true) continue
      this.#groups.splice(i, 1)
      for (const other of group) if (other !== subject && !this.#certain.has(other)) cleared.add(other)
    }
    for (const group of this.#groups) for (const other of group) cleared.delete(other)
    return cleared
  }
}
