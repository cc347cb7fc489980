import { hash128 } from '../../core/hash.ts'
import { type Caller, personCaller } from './caller.ts'
import type { CookieSealer } from './cookie-sealer.ts'
import { cookieName, cookiesOf, setCookie } from './cookies.ts'
import type { PublicAddress } from './public-address.ts'
import { type RoleMap, roleOf } from './roles.ts'

const PURPOSE = 'session'
const ENDED_PURPOSE = 'signed-out'
/** The latest sign-outs of a browser that its cookie names. */
const MAX_ENDED = 5
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

/** What the cookie of a sign-out names. */
interface EndedSessions {
  readonly ended: readonly string[]
  readonly at: number
}

/** Renewing a session does not change this. */
function identityOf({ name, startedAt }: Session): string {
  return hash128(`${startedAt} ${name}`)
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
  readonly #endedName: string

  constructor(sealer: CookieSealer, address: PublicAddress, roles: RoleMap, limits: SessionLimits) {
    this.#sealer = sealer
    this.#address = address
    this.#roles = roles
    this.#limits = limits
    this.#name = cookieName(address, address.cookiePath, 'lazaret-session')
    this.#endedName = cookieName(address, address.cookiePath, 'lazaret-signed-out')
  }

  /** The cookie of a new session. */
  start(person: Person, now: number): string {
    return this.#cookie({ ...person, startedAt: now, usedAt: now }, now)
  }

  /**
   * The cookies that end the session in the browser. An answer that is under way may still renew the session there, so a
   * second cookie names the session that has ended, and no server accepts that session together with this cookie.
   */
  end(request: Request, now: number): readonly string[] {
    const path = this.#address.cookiePath
    const removed = setCookie(this.#address, this.#name, '', { path, maxAgeMs: 0 })
    const opened = this.#opened(request).map(identityOf)
    if (opened.length === 0) return [removed]
    // Another person may have signed out here before.
    const ended = [...new Set([...opened, ...this.#endedIn(request)])].slice(0, MAX_ENDED)
    const value = this.#sealer.seal(ENDED_PURPOSE, { ended, at: now })
    return [
      removed,
      setCookie(this.#address, this.#endedName, value, { path, maxAgeMs: this.#limits.maxAgeMs }),
    ]
  }

  /** The caller of a session that is valid now, and the cookie that renews it if that is due. */
  read(
    request: Request,
    now: number,
    isUsed: boolean,
  ): { readonly caller: Caller; readonly cookie?: string | undefined } | undefined {
    const ended = this.#endedIn(request)
    for (const session of this.#opened(request)) {
      const isOpen = this.#isValid(session, now) && !ended.has(identityOf(session))
      const role = isOpen ? roleOf(this.#roles, session.groups) : undefined
      if (role === undefined) continue
      const isDue = isUsed && now - session.usedAt >= Math.min(RENEW_EVERY_MS, this.#limits.idleMs / 10)
      const current = isDue ? { ...session, usedAt: now } : session
      const caller = personCaller('oidc', session.name, role, this.#endOf(current))
      return { caller, cookie: isDue ? this.#cookie(current, now) : undefined }
    }
    return undefined
  }

  #opened(request: Request): readonly Session[] {
    return cookiesOf(request, this.#name).flatMap(
      text => (this.#sealer.open(PURPOSE, text) as Session | undefined) ?? [],
    )
  }

  #endedIn(request: Request): ReadonlySet<string> {
    return new Set(
      cookiesOf(request, this.#endedName).flatMap(
        text => (this.#sealer.open(ENDED_PURPOSE, text) as EndedSessions | undefined)?.ended ?? [],
      ),
    )
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
