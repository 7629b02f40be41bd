// Where metadata may be, in the order in which it is looked for, and which URLs are asked at all.
import { isLoopback } from '../base/index.ts'

/** A server's identifier: its URL without fragment, and without the slash of an empty path. */
export function resourceOf(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return pathname === '/' && search === '' ? origin : `${origin}${pathname}${search}`
}

/** Whether metadata may speak for a server: its resource is the server, or a path above it (RFC 9728, section 3.3). */
export function coversResource(resource: string, url: string): boolean {
  if (!URL.canParse(resource)) return false
  const named = new URL(resource)
  const asked = new URL(url)
  if (named.origin !== asked.origin) return false
  const above = named.pathname.replace(/\/*$/, '/')
  return `${asked.pathname}/`.startsWith(above)
}

/** Where a server's own metadata is: only where it says so; else at its path, then at the root of its origin. */
export function resourceMetadataUrls(url: string, named: string | undefined): readonly string[] {
  if (named !== undefined) return [named]
  const { origin, pathname } = new URL(url)
  const root = `${origin}/.well-known/oauth-protected-resource`
  const path = pathname.replace(/\/$/, '')
  return path === '' ? [root] : [`${root}${path}`, root]
}

/** Where an authorization server's metadata is: RFC 8414, then OpenID Connect, with its path inserted before it is appended. */
export function serverMetadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const oauth = `${origin}/.well-known/oauth-authorization-server`
  const oidc = `${origin}/.well-known/openid-configuration`
  if (path === '') return [oauth, oidc]
  return [`${oauth}${path}`, `${oidc}${path}`, `${origin}${path}/.well-known/openid-configuration`]
}

/** RFC 8414, section 3.3: identical. The slash of an empty path makes no other URL, and documents differ in it. */
export function sameIssuer(claimed: string, asked: string): boolean {
  return (
    claimed === asked ||
    (URL.canParse(claimed) && isRoot(claimed) && isRoot(asked) && sameHref(claimed, asked))
  )
}

/**
 * Whether a URL may be asked for the sake of a server: https, or, for a server on this machine, http on this machine. A
 * stranger's server must not make mcpx ask what listens beside it.
 */
export function mayAsk(url: string, server: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  const isLocal = isLoopback(hostname) && isLoopback(new URL(server).hostname)
  return protocol === 'https:' || (protocol === 'http:' && isLocal)
}

function isRoot(url: string): boolean {
  const { pathname, search } = new URL(url)
  return pathname === '/' && search === ''
}

function sameHref(a: string, b: string): boolean {
  return new URL(a).href === new URL(b).href
}
