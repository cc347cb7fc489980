import { isIP } from 'node:net'
import { bareHost as bare, isLoopback } from '../../core/options/loopback.ts'
import { ProblemError } from '../problem.ts'

const WILDCARDS = ['0.0.0.0', '::']
const SAFE_METHODS = ['GET', 'HEAD']

/**
 * The names the server goes by. A page of another site can make its own name point to this machine (DNS rebinding),
 * and then its requests come from a browser that is allowed in; but they still carry its name.
 */
export class AllowedHosts {
  readonly #allowed: ReadonlySet<string>
  #bound: string | undefined

  constructor(allowed: readonly string[]) {
    this.#allowed = new Set(allowed.map(bare))
  }

  bind(host: string): void {
    this.#bound = bare(host)
  }

  requireKnown(request: Request): void {
    const host = hostOf(request)
    const name = bare(withoutPort(host))
    if (isLoopback(name) || name === this.#bound || this.#allowed.has(name)) return
    // An address is nobody's name to point elsewhere.
    if (this.#bound !== undefined && WILDCARDS.includes(this.#bound) && isIP(name) !== 0) return
    throw new ProblemError(
      'wrong-host',
      `The host ${JSON.stringify(host.slice(0, 100))} is not a name of this server. If it should be, add it to allowedHosts.`,
    )
  }

  /**
   * A request that changes something must come from the console itself, or from a program. A browser says where a
   * request comes from; a program without a token has to say it too, because without a token that is all there is to
   * tell.
   */
  requireSameSite(request: Request, hasToken: boolean): void {
    if (SAFE_METHODS.includes(request.method)) return
    const site = request.headers.get('sec-fetch-site')
    const origin = request.headers.get('origin')
    if (site !== null && site !== 'same-origin' && site !== 'none') throw crossSite()
    if (origin !== null && !isOriginOf(origin, hostOf(request))) throw crossSite()
    if (hasToken || origin !== null || site === 'same-origin') return
    throw new ProblemError(
      'cross-site',
      `A change without a token needs the header Origin. Send Origin: http://${hostOf(request)}`,
    )
  }
}

function crossSite(): ProblemError {
  return new ProblemError(
    'cross-site',
    'A page of another site sent this request. Use the console of this server, or a program.',
  )
}

/** The scheme is left out: behind a proxy the console is on https and the server on http. */
function isOriginOf(origin: string, host: string): boolean {
  const url = URL.parse(origin)
  return url !== null && url.origin === origin && url.host === host.toLowerCase()
}

function hostOf(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

function withoutPort(host: string): string {
  return host.replace(/:\d*$/, '')
}
