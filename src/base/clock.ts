/** Time, handed in: pure rooms have none of their own, and tests bring a clock that they turn by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Calls back once after that many milliseconds, unless the timer is cancelled first. Never keeps a process alive. */
  after(ms: number, callback: () => void): Timer
}

export interface Timer {
  cancel(): void
}
