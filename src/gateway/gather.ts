import type { Clock, Log } from '../base/index.ts'
import { asMcpxError } from '../base/index.ts'
import type { Member } from './member.ts'

/**
 * Asks all members at once and waits at most `patience` ms. Resolves with those that answered, in the members' order; the
 * failures of the others are logged, their late answers dropped.
 */
export async function gather<T>(
  members: readonly Member[],
  ask: (member: Member) => Promise<T>,
  io: { readonly patience: () => number; readonly clock: Clock; readonly log: Log },
): Promise<readonly (readonly [Member, T])[]> {
  const answers = new Map<Member, T>()
  const all = Promise.all(
    members.map(async (member) => {
      try {
        answers.set(member, await ask(member))
      } catch (error) {
        const { code, message } = asMcpxError(error)
        io.log.debug('a server is left out', { server: member.name, code, message })
      }
    }),
  )
  let stop: (() => void) | undefined
  const late = new Promise<void>((resolve) => {
    const timer = io.clock.after(io.patience(), resolve)
    stop = () => timer.cancel()
  })
  await Promise.race([all, late])
  stop?.()
  return members.flatMap((member) => {
    const answer = answers.get(member)
    return answer === undefined ? [] : [[member, answer] as const]
  })
}
