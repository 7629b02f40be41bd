// Every kind of client, by name: the rows of the tables that tests are made of.
import type { Address, JsonObject, Peer } from './peer.ts'
import { rawPeer, REVISIONS } from './raw.ts'
import type { Revision } from './raw.ts'
import { openRawHttp } from './raw-http.ts'
import { openRawStdio } from './raw-stdio.ts'
import { openSdkV1, openSdkV2 } from './sdk-clients.ts'

export interface ClientKind {
  readonly name: string
  /** The revision that it speaks with a server that speaks all of them. */
  readonly revision: Revision
  /** Whether it can speak with a server of the era. */
  readonly speaks: readonly ('legacy' | 'modern')[]
  open(address: Address): Promise<Peer>
}

export const CLIENTS: readonly ClientKind[] = [
  {
    name: 'sdk v2 auto',
    revision: '2026-07-28',
    speaks: ['legacy', 'modern'],
    open: (address) => openSdkV2(address, 'auto'),
  },
  {
    name: 'sdk v2 legacy',
    revision: '2025-11-25',
    speaks: ['legacy'],
    open: (address) => openSdkV2(address, 'legacy'),
  },
  {
    name: 'sdk v2 pinned',
    revision: '2026-07-28',
    speaks: ['modern'],
    open: (address) => openSdkV2(address, { pin: '2026-07-28' }),
  },
  { name: 'sdk v1', revision: '2025-11-25', speaks: ['legacy'], open: openSdkV1 },
  ...REVISIONS.map((revision): ClientKind => ({
    name: `raw ${revision}`,
    revision,
    speaks: [revision === '2026-07-28' ? 'modern' : 'legacy'],
    open: (address) => openRaw(address, revision),
  })),
]

export async function openRaw(
  address: Address,
  revision: Revision,
  capabilities: JsonObject = {},
): Promise<Peer> {
  const options = { revision, capabilities }
  const open = 'url' in address ? openRawHttp(address.url, options) : openRawStdio(address, options)
  return rawPeer(await open)
}
