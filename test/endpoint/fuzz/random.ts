/** A stream of numbers that a seed decides (mulberry32). */
export interface Random {
  /** From 0 inclusive to 1 exclusive. */
  next(): number
  /** An integer from 0 inclusive to `limit` exclusive. */
  below(limit: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
}

function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (items) => {
      const index = below(items.length)
      if (index >= items.length) throw new RangeError('nothing to pick from')
      return items[index] as (typeof items)[number]
    },
  }
}

/** Each request has a stream of its own, so that one alone can be made again. */
export function randomOf(seed: number, index: number): Random {
  return createRandom(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(index + 1, 0xc2b2ae35))
}
