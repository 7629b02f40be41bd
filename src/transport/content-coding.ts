import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import * as zlib from 'node:zlib'
import { Transform } from 'node:stream'

/** What is asked for; whatever else a server sends is decoded too where Node can. */
export const ACCEPT_ENCODING = 'gzip, deflate, br'

export interface DecodedSink {
  onBytes(bytes: Uint8Array): void
  onEnd(): void
  onError(message: string): void
  /** The decoder has room again after a `write` that returned false. */
  onDrain(): void
}

export interface Decoder {
  /** False when the caller should wait for `onDrain`. */
  write(bytes: Uint8Array): boolean
  end(): void
  /** Nothing comes to the sink any more. */
  destroy(): void
}

/** Each part is handed on as it comes: an event must not wait for the buffer of a compressor to fill. */
const ZLIB = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
const BROTLI = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH }

/** Two layers are seen in practice, behind a proxy that compresses again; more would only be an attack. */
const MAX_LAYERS = 2

/** A decoder for a `Content-Encoding`; `identity` where there is nothing to decode, undefined where it cannot be decoded. */
export function createDecoder(header: string, sink: DecodedSink): Decoder | 'identity' | undefined {
  const names = header
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  if (names.length === 0) return 'identity'
  if (names.length > MAX_LAYERS) return undefined
  const layers: Transform[] = []
  for (const name of names.toReversed()) {
    const layer = decompressor(name)
    if (layer === undefined) return undefined
    layers.push(layer)
  }
  return chain(layers, sink)
}

function chain(layers: Transform[], sink: DecodedSink): Decoder | undefined {
  const [first] = layers
  const last = layers.at(-1)
  if (first === undefined || last === undefined) return undefined
  let open = true
  for (const [index, layer] of layers.entries()) {
    const next = layers[index + 1]
    if (next !== undefined) layer.pipe(next)
    layer.on('error', (error) => {
      if (open) sink.onError(error.message)
    })
  }
  last.on('data', (bytes: Buffer) => {
    if (open) sink.onBytes(bytes)
  })
  last.on('end', () => {
    if (open) sink.onEnd()
  })
  first.on('drain', () => sink.onDrain())
  return {
    write: (bytes) => first.write(bytes),
    end: () => void first.end(),
    destroy() {
      open = false
      for (const layer of layers) layer.destroy()
    },
  }
}

function decompressor(name: string): Transform | undefined {
  switch (name) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(ZLIB)
    case 'deflate':
      return createEitherInflate()
    case 'br':
      return createBrotliDecompress(BROTLI)
    case 'zstd':
      // Node has it since 22.15.
      return 'createZstdDecompress' in zlib ? (zlib.createZstdDecompress as () => Transform)() : undefined
    default:
      return undefined
  }
}

/** `deflate` is the zlib format, but some servers send the bare one; the first byte tells them apart. */
function createEitherInflate(): Transform {
  let inflate: Transform | undefined
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      if (inflate === undefined) {
        inflate = ((bytes[0] ?? 0) & 0x0f) === 8 ? createInflate(ZLIB) : createInflateRaw(ZLIB)
        inflate.on('data', (part: Buffer) => this.push(part))
        inflate.on('error', (error) => this.destroy(error))
      }
      inflate.write(bytes, () => done())
    },
    flush(done) {
      if (inflate === undefined) return done()
      inflate.once('end', () => done())
      return inflate.end()
    },
    destroy(error, done) {
      inflate?.destroy()
      done(error)
    },
  })
}
