// Sealing: a value that travels through a client and comes back, unread and unchanged. AES-256-GCM under keys of the
// endpoint's owner; the first key seals, all of them open, so that keys can be changed.
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { canonicalJson, isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import type { Sealer } from '../wire/index.ts'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Keys of 32 bytes, the newest first. Without any, a random one that dies with the process. */
export function createSealer(keys: readonly Uint8Array[] = []): Sealer {
  const all = keys.length > 0 ? keys : [randomBytes(KEY_BYTES)]
  const [first] = all
  if (first === undefined || all.some((key) => key.length !== KEY_BYTES)) {
    throw new RangeError(`a sealing key has ${KEY_BYTES} bytes`)
  }
  return {
    digest: (text) => createHash('sha256').update(text).digest('base64url'),
    seal: (purpose, value) =>
      sealWith(first, { purpose, nonce: randomBytes(NONCE_BYTES), text: JSON.stringify(value) }),
    sealSame: (purpose, value) => {
      const text = canonicalJson(value)
      // A nonce of the content itself: it repeats only with the same content, which GCM allows.
      const mac = createHmac('sha256', first)
        .update(JSON.stringify(['nonce', purpose, text]))
        .digest()
      return sealWith(first, { purpose, nonce: mac.subarray(0, NONCE_BYTES), text })
    },
    open: (purpose, text) => {
      const bytes = Buffer.from(text, 'base64url')
      if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined
      for (const key of all) {
        const value = openWith(key, purpose, bytes)
        if (value !== undefined) return value
      }
      return undefined
    },
  }
}

function sealWith(
  key: Uint8Array,
  { purpose, nonce, text }: { readonly purpose: string; readonly nonce: Uint8Array; readonly text: string },
): string {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

function openWith(key: Uint8Array, purpose: string, bytes: Buffer): JsonObject | undefined {
  const tagEnd = NONCE_BYTES + TAG_BYTES
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(NONCE_BYTES, tagEnd))
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]).toString('utf8')
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
