// One place where what was heard differs from what the corpus holds.
export interface Difference {
  /** `status line`, `header date`, `body /result/tools/0/name`, `event 2 /result`, `chunks`, `end`. */
  readonly at: string
  /** Where in the body the first byte differs, if nothing in it is masked. */
  readonly byte?: number
  /** Null where there is nothing. */
  readonly expected: string | null
  readonly got: string | null
}
