// A key in PEM as the one that signs.
import { createPrivateKey, webcrypto } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { McpxError } from '../base/index.ts'

const ALGORITHMS: Readonly<Record<string, Parameters<typeof webcrypto.subtle.importKey>[2]>> = {
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  ES384: { name: 'ECDSA', namedCurve: 'P-384' },
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
  EdDSA: { name: 'Ed25519' },
}

/** Throws CONFIG_INVALID, without a word of the key, for a text that holds none of that algorithm. */
export async function signingKey(
  pem: string,
  algorithm: string | undefined,
  server: string,
): Promise<webcrypto.CryptoKey> {
  try {
    // A variable of one line has its line breaks written out.
    const key = createPrivateKey(pem.replaceAll('\\n', '\n'))
    const chosen = ALGORITHMS[algorithm ?? algorithmOf(key)]
    const der = key.export({ format: 'der', type: 'pkcs8' })
    if (chosen === undefined) throw new Error('unknown')
    return await webcrypto.subtle.importKey('pkcs8', der, chosen, false, ['sign'])
  } catch {
    const kind = algorithm === undefined ? 'EC, RSA or Ed25519' : algorithm
    throw new McpxError(
      'CONFIG_INVALID',
      `Server "${server}": "auth.privateKey" holds no private key in PEM for ${kind}. Correct it.`,
    )
  }
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  if (asymmetricKeyType === 'ed25519') return 'EdDSA'
  if (asymmetricKeyType === 'ec') return asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 'ES384' : 'ES256'
  return 'RS256'
}
