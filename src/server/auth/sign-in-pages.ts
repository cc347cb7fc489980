import { type Clock, settlesWithin } from '../../ports/clock.ts'
import { ProblemError } from '../problem.ts'
import type { ServerLog } from '../work/log.ts'
import type { CookieSealer } from './cookie-sealer.ts'
import { cookieName, cookiesOf, setCookie } from './cookies.ts'
import { type OidcProvider, type PendingSignIn, SignInError } from './oidc.ts'
import { requireOwnPage } from './own-page.ts'
import type { PublicAddress } from './public-address.ts'
import type { Sessions } from './sessions.ts'

export const SIGN_IN_PATH = '/auth/sign-in'
export const CALLBACK_PATH = '/auth/callback'
export const SIGN_OUT_PATH = '/auth/sign-out'

const PURPOSE = 'sign-in'
/** How long a person may take at the provider. */
const PENDING_MS = 600_000
/** How long a sign-out waits for a provider that is down. */
const SIGN_OUT_MS = 2_000
const STATE = /^[\w-]{20,200}$/
const STATE_IN_NAME = 12

interface Pending extends PendingSignIn {
  readonly to: string
  readonly startedAt: number
}

interface SignInParts {
  readonly provider: OidcProvider
  readonly sessions: Sessions
  readonly sealer: CookieSealer
  readonly address: PublicAddress
  readonly clock: Clock
  readonly log: ServerLog
}

/**
 * The addresses that a browser visits to sign in and out. Between leaving for the provider and coming back, a sealed cookie
 * holds state, nonce and PKCE verifier, so another server can finish the sign-in, and another browser cannot. A failed
 * sign-in leads back to the page that was asked for, with the problem behind `#`; the console says it in words.
 */
export class SignInPages {
  readonly #parts: SignInParts

  constructor(parts: SignInParts) {
    this.#parts = parts
  }

  async begin(request: Request): Promise<Response> {
    const { provider, sealer, address, clock } = this.#parts
    const to = address.returnPath(new URL(request.url).searchParams.get('to') ?? undefined)
    try {
      const { url, ...pending } = await provider.begin()
      const content: Pending = { ...pending, to, startedAt: clock.now() }
      return redirect(url.href, this.#pendingCookie(pending.state, sealer.seal(PURPOSE, content), PENDING_MS))
    } catch (error) {
      return this.#failed(error, to)
    }
  }

  async finish(request: Request): Promise<Response> {
    const { provider, sessions, clock, log } = this.#parts
    const { search, searchParams } = new URL(request.url)
    const state = searchParams.get('state') ?? ''
    const pending = STATE.test(state) ? this.#pending(request, state) : undefined
    if (pending === undefined)
      return this.#failed(
        new SignInError('expired', 'no sign-in of this browser waits for this answer'),
        undefined,
      )
    const used = this.#pendingCookie(state, '', 0)
    try {
      const person = await provider.finish(search, pending)
      log.signedIn(`${person.name} (oidc)`)
      return redirect(pending.to, used, sessions.start(person, clock.now()))
    } catch (error) {
      return this.#failed(error, pending.to, used)
    }
  }

  /** Answers with the address to go to next: the provider's page that ends its session, or the first page. */
  async end(request: Request): Promise<Response> {
    const { provider, sessions, address, clock } = this.#parts
    requireOwnPage(request, address)
    const home = `${address.url}/`
    const asked = provider.endUrl(home)
    const url = (await settlesWithin(clock, SIGN_OUT_MS, asked)) ? await asked : undefined
    const headers = new Headers({ 'content-type': 'application/json' })
    for (const cookie of sessions.end(request, clock.now())) headers.append('set-cookie', cookie)
    return new Response(JSON.stringify({ url: url ?? home }), { headers })
  }

  /** Looks for the provider at the start of the server, so that the log says early that nobody can sign in. */
  async check(): Promise<void> {
    const { provider, log } = this.#parts
    try {
      await provider.discover()
    } catch (error) {
      log.providerDown(provider.issuer, (error as Error).message)
    }
  }

  #pending(request: Request, state: string): Pending | undefined {
    const { sealer, clock } = this.#parts
    const now = clock.now()
    return cookiesOf(request, this.#pendingName(state))
      .map(text => sealer.open(PURPOSE, text) as Pending | undefined)
      .find(found => found?.state === state && now < found.startedAt + PENDING_MS)
  }

  /** Each sign-in has its own cookie, so that two tabs can sign in at once. */
  #pendingName(state: string): string {
    return cookieName(
      this.#parts.address,
      this.#pendingPath,
      `lazaret-sign-in-${state.slice(0, STATE_IN_NAME)}`,
    )
  }

  get #pendingPath(): string {
    return this.#parts.address.basePath + CALLBACK_PATH
  }

  #pendingCookie(state: string, value: string, maxAgeMs: number): string {
    const { address } = this.#parts
    return setCookie(address, this.#pendingName(state), value, { path: this.#pendingPath, maxAgeMs })
  }

  #failed(error: unknown, to: string | undefined, ...cookies: readonly string[]): Response {
    const { address, log } = this.#parts
    if (!(error instanceof SignInError)) throw error
    log.signInFailed(error.problem, error.message)
    return redirect(`${to ?? address.returnPath(undefined)}#sign-in-problem=${error.problem}`, ...cookies)
  }
}

/** 303: the browser asks for the next page with GET. */
function redirect(location: string, ...cookies: readonly string[]): Response {
  const headers = new Headers({ location, 'cache-control': 'no-store' })
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return new Response(null, { status: 303, headers })
}

/** The answer of a server without these pages. */
export function noSignIn(): ProblemError {
  return new ProblemError('not-found', 'This server has no sign-in by OpenID Connect. Use a token.')
}
