// Public names: what the tools and prompts of several servers are called behind one endpoint.

/** How names are made where several servers stand behind one endpoint. */
export type Naming = 'prefix' | 'none'

const SEPARATOR = '__'
const MAX_LENGTH = 64
const UNSAFE = /[^A-Za-z0-9_-]/g

/**
 * The public name of a server's tool or prompt: `<server>__<name>`. What clients and models would refuse (over 64 characters,
 * or others than letters, digits, `_` and `-`) is replaced and shortened, with a hash of the whole that keeps it apart.
 */
export function publicName(prefix: string, name: string): string {
  const whole = leadOf(prefix) + name
  const safe = whole.replace(UNSAFE, '_')
  if (safe === whole && whole.length <= MAX_LENGTH) return whole
  const hash = hashOf(whole)
  return `${safe.slice(0, MAX_LENGTH - hash.length - 1)}_${hash}`
}

/** The part of a public name after a server's prefix, or undefined where the name is not one of that server's. */
export function afterPrefix(prefix: string, name: string): string | undefined {
  const lead = leadOf(prefix)
  return name.startsWith(lead) ? name.slice(lead.length) : undefined
}

/** Whether a public name may be one that was made safe or shortened, and so says too little of the server's own name. */
export function mayBeShortened(name: string): boolean {
  return /_[0-9a-z]{11}$/.test(name)
}

/** A stable 53-bit hash as 11 digits in base 36. Not for secrets: it only keeps shortened names apart. */
export function hashOf(text: string): string {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    high = Math.imul(high ^ unit, 2654435761)
    low = Math.imul(low ^ unit, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(36).padStart(11, '0')
}

/** Without a prefix, names stand as the server gave them. */
function leadOf(prefix: string): string {
  return prefix === '' ? '' : prefix + SEPARATOR
}
