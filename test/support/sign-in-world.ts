import { CookieSealer } from '../../src/server/auth/cookie-sealer.ts'
import { PublicAddress } from '../../src/server/auth/public-address.ts'
import { Sessions } from '../../src/server/auth/sessions.ts'
import type { SignInOptions } from '../../src/server/index.ts'
import { HOME, type Question } from './server-world.ts'

export const SECRET = 'a secret of the tests, long enough to seal'
export const PROXY = '10.0.0.5'
/** Each group has the role of its name. */
const roles = { viewer: 'viewer', operator: 'operator', admin: 'admin' } as const
export const HOURS = 3_600_000
export const LIMITS = { maxAgeMs: 8 * HOURS, idleMs: HOURS }

export const SIGN_IN = {
  publicUrl: HOME,
  session: { secrets: [SECRET], ...LIMITS },
  oidc: { issuer: 'http://127.0.0.1:9', clientId: 'lazaret', roles },
  proxy: { addresses: [PROXY, '10.1.0.0/16', 'fd00::/8'], roles },
} satisfies SignInOptions

/** A session as a server with this secret and public URL gives it. */
export function sessionCookie(
  name: string,
  groups: readonly string[],
  now: number,
  { secret = SECRET, publicUrl = HOME }: { readonly secret?: string; readonly publicUrl?: string } = {},
): string {
  const address = new PublicAddress(publicUrl, '')
  const sessions = new Sessions(new CookieSealer([secret], address.url), address, { roles }, LIMITS)
  return nameAndValue(sessions.start({ name, groups }, now))
}

/** What the browser sends back of a `Set-Cookie`. */
export function nameAndValue(setCookie: string): string {
  return setCookie.split(';')[0]!
}

/** A request of the console in the browser of a person who has signed in. */
export function asSession(name: string, groups: readonly string[], now: number): Question {
  return withCookie(sessionCookie(name, groups, now))
}

export function withCookie(cookie: string, more: Readonly<Record<string, string>> = {}): Question {
  return { headers: { cookie, 'x-lazaret-console': 'active', ...more } }
}

/** A request of the console through the proxy. */
export function asProxied(name: string, groups: string, from = PROXY): Question {
  const headers = { 'x-forwarded-user': name, 'x-forwarded-groups': groups }
  return { headers: { ...headers, 'x-lazaret-console': 'active' }, from }
}
