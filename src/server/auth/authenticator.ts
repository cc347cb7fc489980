import { createHash, timingSafeEqual } from 'node:crypto'
import type { Role } from '../../core/options/sign-in.ts'
import { ProblemError } from '../problem.ts'
import type { Caller } from './caller.ts'
import { isActive, requireOwnPage } from './own-page.ts'
import type { Connection, ProxyHeaders } from './proxy-headers.ts'
import type { PublicAddress } from './public-address.ts'
import type { Sessions } from './sessions.ts'

/** A token that the server accepts. The server stores only the hash of the token. */
export interface TokenOptions {
  /** The name of the person or program, for the audit. Every token needs its own. */
  readonly name: string
  /** What the caller may do: viewer, operator or admin. */
  readonly role: Role
  /** The SHA-256 of the token, in hex: `printf %s TOKEN | sha256sum`. */
  readonly sha256: string
  /**
   * The token works at `/mcp` only [false]. An agent that can read its own token then cannot approve its plans with it
   * through the API.
   */
  readonly agentOnly?: boolean | undefined
}

/** How people sign in, beside tokens. */
interface PeopleSignIn {
  readonly address: PublicAddress
  readonly proxy?: ProxyHeaders | undefined
  readonly sessions?: Sessions | undefined
}

/** The caller of a request, and the cookie that renews the session of the caller. */
export interface Authenticated {
  readonly caller: Caller
  readonly cookie?: string | undefined
}

/** Without tokens and sign-in the server listens on a loopback address only, and every caller is admin. */
const LOCAL: Caller = Object.freeze({ name: 'local', role: 'admin', kind: 'local' })
const BEARER = /^Bearer +([\x21-\x7e]+) *$/i

/**
 * Finds out who sent a request: by a token, by the headers of a trusted proxy, or by a session, in this order. A request
 * with a wrong token is refused, whatever else it has.
 */
export class Authenticator {
  readonly #tokens: readonly { readonly caller: Caller; readonly hash: Buffer }[]
  readonly #people: PeopleSignIn | undefined

  constructor(tokens: readonly TokenOptions[], people?: PeopleSignIn) {
    this.#tokens = tokens.map(({ name, role, sha256, agentOnly }) => ({
      caller: Object.freeze({ name, role, kind: 'token', agentOnly }),
      hash: Buffer.from(sha256, 'hex'),
    }))
    this.#people = people
  }

  /** Whether everyone is let in as an admin. */
  get isOpen(): boolean {
    return !this.hasTokens && this.#people === undefined
  }

  get hasTokens(): boolean {
    return this.#tokens.length > 0
  }

  authenticate(request: Request, connection: Connection, now: number): Authenticated {
    if (this.isOpen) return { caller: LOCAL }
    const [, token] = BEARER.exec(request.headers.get('authorization') ?? '') ?? []
    if (token !== undefined) return { caller: this.#ofToken(token) }
    return this.#ofPerson(request, connection, now)
  }

  #ofToken(token: string): Caller {
    const caller = this.#find(token)
    if (caller !== undefined) return caller
    throw unauthenticated(
      'The token is not valid. Check it, or ask the administrator of this server for a new one.',
    )
  }

  #ofPerson(request: Request, connection: Connection, now: number): Authenticated {
    if (this.#people === undefined)
      throw unauthenticated('This server requires a token. Send the header Authorization: Bearer TOKEN.')
    const { address, proxy, sessions } = this.#people
    const told = proxy?.read(request, connection)
    const found =
      told !== undefined && 'caller' in told ? told : sessions?.read(request, now, isActive(request))
    if (found === undefined) {
      const ignored = told !== undefined && 'ignored' in told ? told.ignored : undefined
      throw unauthenticated(
        ignored ??
          `Sign in to the console at ${address.url}/, or send the header Authorization: Bearer TOKEN.`,
      )
    }
    requireOwnPage(request, address)
    return found
  }

  /** Compares the hash with all tokens in constant time, so that the duration discloses nothing. */
  #find(token: string): Caller | undefined {
    const hash = createHash('sha256').update(token).digest()
    let found: Caller | undefined
    for (const each of this.#tokens) if (timingSafeEqual(each.hash, hash)) found = each.caller
    return found
  }
}

function unauthenticated(detail: string): ProblemError {
  return new ProblemError('unauthenticated', detail, {
    headers: { 'www-authenticate': 'Bearer realm="lazaret"' },
  })
}
