// The only globals that the pure rooms may use: what every JavaScript runtime has and what does no I/O.
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean })
  decode(bytes?: Uint8Array, options?: { stream?: boolean }): string
}
declare class TextEncoder {
  encode(text: string): Uint8Array
}
declare class URL {
  constructor(url: string, base?: string)
  readonly href: string
  readonly origin: string
  readonly protocol: string
  readonly hostname: string
  readonly pathname: string
  readonly search: string
  readonly searchParams: URLSearchParams
  static canParse(url: string, base?: string): boolean
}
declare class URLSearchParams {
  constructor(init?: Readonly<Record<string, string>> | string)
  get(name: string): string | null
  set(name: string, value: string): void
  toString(): string
}
/** What came back, once somebody else has fetched it. */
declare class Response {
  constructor(body?: string | null, init?: { status?: number; headers?: Readonly<Record<string, string>> })
  readonly status: number
  text(): Promise<string>
}
declare function atob(base64: string): string
declare function btoa(latin1: string): string
