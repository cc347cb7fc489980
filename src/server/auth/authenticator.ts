import { createHash, timingSafeEqual } from 'node:crypto'
import { ProblemError } from '../problem.ts'
import type { Role } from '../schema/me.ts'

/** A token that the server accepts. The server stores only the hash of the token. */
export interface TokenOptions {
  /** The name of the person or program, for the audit. Every token needs its own. */
  readonly name: string
  /** What the caller may do: viewer, operator or admin. */
  readonly role: Role
  /** The SHA-256 of the token, in hex: `printf %s TOKEN | sha256sum`. */
  readonly sha256: string
}

/** The person or program that sent a request. */
export interface Caller {
  readonly name: string
  readonly role: Role
}

/** Without tokens the server listens on a loopback address only, and every caller is admin. */
const LOCAL: Caller = Object.freeze({ name: 'local', role: 'admin' })
const BEARER = /^Bearer +([\x21-\x7e]+) *$/i

export class TokenAuthenticator {
  readonly #tokens: readonly { readonly caller: Caller; readonly hash: Buffer }[]

  constructor(tokens: readonly TokenOptions[]) {
    this.#tokens = tokens.map(({ name, role, sha256 }) => ({
      caller: Object.freeze({ name, role }),
      hash: Buffer.from(sha256, 'hex'),
    }))
  }

  get hasTokens(): boolean {
    return this.#tokens.length > 0
  }

  authenticate(request: Request): Caller {
    if (!this.hasTokens) return LOCAL
    const [, token] = BEARER.exec(request.headers.get('authorization') ?? '') ?? []
    const caller = token === undefined ? undefined : this.#find(token)
    if (caller !== undefined) return caller
    const detail =
      token === undefined
        ? 'This server requires a token. Send the header Authorization: Bearer TOKEN.'
        : 'The token is not valid. Check it, or ask the administrator of this server for a new one.'
    throw new ProblemError('unauthenticated', detail, {
      headers: { 'www-authenticate': 'Bearer realm="lazaret"' },
    })
  }

  /** Compares the hash with all tokens in constant time, so that the duration discloses nothing. */
  #find(token: string): Caller | undefined {
    const hash = createHash('sha256').update(token).digest()
    let found: Caller | undefined
    for (const each of this.#tokens) if (timingSafeEqual(each.hash, hash)) found = each.caller
    return found
  }
}
