import { METHOD } from '../spec/index.ts'

/** The lists that a server can say have changed; templates change with the resources. */
export type ChangedList = 'tools' | 'prompts' | 'resources'

/** The filter's member for each list, and the notification that tells of it. */
export const SUBSCRIBABLE = {
  tools: { filter: 'toolsListChanged', method: METHOD.toolsChanged },
  prompts: { filter: 'promptsListChanged', method: METHOD.promptsChanged },
  resources: { filter: 'resourcesListChanged', method: METHOD.resourcesChanged },
} as const satisfies Record<ChangedList, { filter: string; method: string }>

export const CHANGED_LISTS = Object.keys(SUBSCRIBABLE) as readonly ChangedList[]

/** Who wants to know when a server's lists change. */
export class Changes {
  readonly #listeners = new Set<(kind: ChangedList) => void>()

  /** Calls back for every change until the returned function is called. */
  on(listener: (kind: ChangedList) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  tell(kind: ChangedList): void {
    for (const listener of this.#listeners) listener(kind)
  }
}
