import type { PublicAddress } from './public-address.ts'

interface CookieOptions {
  readonly path: string
  /** 0 deletes the cookie. */
  readonly maxAgeMs: number
}

/**
 * The name of a cookie of this server. Browsers take the prefix for a promise: no other host, and with `__Host-` no other
 * path, can have set it.
 */
export function cookieName({ isSecure }: PublicAddress, path: string, name: string): string {
  if (!isSecure) return name
  return path === '/' ? `__Host-${name}` : `__Secure-${name}`
}

/** The value of `Set-Cookie`. No script reads the cookie, and other sites do not send it, but for following a link. */
export function setCookie(
  { isSecure }: PublicAddress,
  name: string,
  value: string,
  { path, maxAgeMs }: CookieOptions,
): string {
  const parts = [`${name}=${value}`, `Path=${path}`, `Max-Age=${Math.ceil(maxAgeMs / 1_000)}`]
  return [...parts, 'HttpOnly', 'SameSite=Lax', ...(isSecure ? ['Secure'] : [])].join('; ')
}

/** All values under a name. Another server of the same host may have set one for another path. */
export function cookiesOf(request: Request, name: string): string[] {
  return (request.headers.get('cookie') ?? '').split(';').flatMap(each => {
    const [own = '', ...value] = each.trim().split('=')
    return own === name ? [value.join('=')] : []
  })
}
