// In which era mcpx first addresses an upstream. Each preference is named for the first request that is sent.
import { clip, McpxError } from '../base/index.ts'
import type { Era } from '../spec/index.ts'

/** Canonical value → what is tried, in order, by the era of the opening request; and the other spellings that are read. */
export const PREFERENCES = {
  'prefer-discover': {
    tries: ['modern', 'legacy'],
    opens: 'server/discover, then initialize',
    aliases: ['modern', 'prefer-modern', 'prefer-stateless', 'prefer-newest'],
  },
  'prefer-initialize': {
    tries: ['legacy', 'modern'],
    opens: 'initialize, then server/discover',
    aliases: ['legacy', 'prefer-legacy', 'prefer-session', 'prefer-oldest'],
  },
  'force-discover': {
    tries: ['modern'],
    opens: 'server/discover only',
    aliases: ['force-modern', 'force-stateless'],
  },
  'force-initialize': {
    tries: ['legacy'],
    opens: 'initialize only',
    aliases: ['force-legacy', 'force-session'],
  },
  follow: {
    tries: ['modern', 'legacy'],
    opens: 'as prefer-discover, plus a legacy session for callers on an older revision',
    aliases: [],
  },
} as const satisfies Record<string, PreferenceFacts>

interface PreferenceFacts {
  readonly tries: readonly Era[]
  readonly opens: string
  readonly aliases: readonly string[]
}

export type Preference = keyof typeof PREFERENCES

/** Every spelling that is read, canonical ones first. */
export const PREFERENCE_SPELLINGS: readonly string[] = [
  ...Object.keys(PREFERENCES),
  ...Object.values(PREFERENCES).flatMap((facts) => facts.aliases),
]

/** What a refusal says is allowed: every canonical value with its aliases. */
export const PREFERENCE_LIST = Object.entries(PREFERENCES)
  .map(([value, { aliases }]) => (aliases.length === 0 ? value : `${value} (or ${aliases.join(', ')})`))
  .join('; ')

const CANONICAL = new Map<string, Preference>(
  (Object.keys(PREFERENCES) as Preference[]).flatMap((value) =>
    [value, ...PREFERENCES[value].aliases].map((spelling) => [spelling, value] as const),
  ),
)

/** The canonical value of any spelling, in any case; undefined for anything else. */
export function readPreference(given: unknown): Preference | undefined {
  return typeof given === 'string' ? CANONICAL.get(given.trim().toLowerCase()) : undefined
}

/** The canonical value of any spelling, in any case. Throws CONFIG_INVALID with the whole list for anything else. */
export function normalisePreference(text: string): Preference {
  const preference = readPreference(text)
  if (preference !== undefined) return preference
  throw new McpxError(
    'CONFIG_INVALID',
    `${JSON.stringify(clip(text))} is not a protocol preference: give ${PREFERENCE_LIST}`,
    { data: { given: clip(text), allowed: PREFERENCE_SPELLINGS } },
  )
}
