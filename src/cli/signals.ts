// The signals that ask a command to end.
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Calls back for the first signal that asks for an end. The second one ends the process at once; the guardian then ends what
 * is left. Returns the function that stops listening.
 */
export function onStopSignal(act: (signal: string) => void): () => void {
  let asked = false
  // Never `once`: the lock of the era file raises a signal anew where it is the only one who listens.
  const heard = (signal: string): void => {
    if (asked) process.exit(1)
    asked = true
    act(signal)
  }
  for (const signal of SIGNALS) process.on(signal, heard)
  return () => {
    for (const signal of SIGNALS) process.removeListener(signal, heard)
  }
}
