import { type Caller, personCaller } from './caller.ts'
import type { CookieSealer } from './cookie-sealer.ts'
import { cookieName, cookiesOf, setCookie } from './cookies.ts'
import type { PublicAddress } from './public-address.ts'
import { type RoleMap, roleOf } from './roles.ts'

const PURPOSE = 'session'
/** The clocks of two servers may differ by this much. */
export const CLOCK_TOLERANCE_MS = 60_000
const RENEW_EVERY_MS = 60_000

/** A person who has signed in. */
export interface Person {
  readonly name: string
  /** Those that have a role. The role itself is looked up at each request, so a change of the configuration counts at once. */
  readonly groups: readonly string[]
}

interface Session extends Person {
  readonly startedAt: number
  readonly usedAt: number
}

interface SessionLimits {
  readonly maxAgeMs: number
  readonly idleMs: number
}

/**
 * Sessions are in cookies, sealed with the secret, and nowhere else: every server with the secret knows them, also after
 * a restart. A session ends at its age limit, or after a time without use. A person's own use renews it, and what the
 * console asks for by itself does not.
 */
export class Sessions {
  readonly #sealer: CookieSealer
  readonly #address: PublicAddress
  readonly #roles: RoleMap
  readonly #limits: SessionLimits
  readonly #name: string

  constructor(sealer: CookieSealer, address: PublicAddress, roles: RoleMap, limits: SessionLimits) {
    this.#sealer = sealer
    this.#address = address
    this.#roles = roles
    this.#limits = limits
    this.#name = cookieName(address, address.cookiePath, 'lazaret-session')
  }

  /** The cookie of a new session. */
  start(person: Person, now: number): string {
    return this.#cookie({ ...person, startedAt: now, usedAt: now }, now)
  }

  /** The cookie that ends the session in the browser. */
  end(): string {
    return setCookie(this.#address, this.#name, '', { path: this.#address.cookiePath, maxAgeMs: 0 })
  }

  /** The caller of a session that is valid now, and the cookie that renews it if that is due. */
  read(
    request: Request,
    now: number,
    isUsed: boolean,
  ): { readonly caller: Caller; readonly cookie?: string | undefined } | undefined {
    for (const text of cookiesOf(request, this.#name)) {
      const session = this.#sealer.open(PURPOSE, text) as Session | undefined
      const role = session && this.#isValid(session, now) ? roleOf(this.#roles, session.groups) : undefined
      if (session === undefined || role === undefined) continue
      const isDue = isUsed && now - session.usedAt >= Math.min(RENEW_EVERY_MS, this.#limits.idleMs / 10)
      const current = isDue ? { ...session, usedAt: now } : session
      const caller = personCaller('oidc', session.name, role, this.#endOf(current))
      return { caller, cookie: isDue ? this.#cookie(current, now) : undefined }
    }
    return undefined
  }

  #isValid(session: Session, now: number): boolean {
    const isFromFuture = Math.max(session.startedAt, session.usedAt) > now + CLOCK_TOLERANCE_MS
    return !isFromFuture && now < this.#endOf(session)
  }

  #endOf({ startedAt, usedAt }: Session): number {
    return Math.min(startedAt + this.#limits.maxAgeMs, usedAt + this.#limits.idleMs)
  }

  #cookie(session: Session, now: number): string {
    return setCookie(this.#address, this.#name, this.#sealer.seal(PURPOSE, session), {
      path: this.#address.cookiePath,
      maxAgeMs: session.startedAt + this.#limits.maxAgeMs - now,
    })
  }
}
