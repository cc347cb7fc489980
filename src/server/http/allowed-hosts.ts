import { isIP } from 'node:net'
import { bareHost as bare, isLoopback } from '../../core/options/loopback.ts'
import type { PublicAddress } from '../auth/public-address.ts'
import { ProblemError } from '../problem.ts'

const WILDCARDS = ['0.0.0.0', '::']
const SAFE_METHODS = ['GET', 'HEAD']

/**
 * Checks the host name of requests, against DNS rebinding: a page of another site can point its own name to this machine,
 * and then its requests come from a browser that may reach the server. But they still carry the name of that site.
 */
export class AllowedHosts {
  readonly #allowed: ReadonlySet<string>
  readonly #publicOrigin: string | undefined
  #bound: string | undefined

  /** Browsers find the server at its public address, so its host is allowed too. */
  constructor(allowed: readonly string[], address?: PublicAddress) {
    const names = address === undefined ? allowed : [...allowed, withoutPort(address.host)]
    this.#allowed = new Set(names.map(bare))
    this.#publicOrigin = address?.origin
  }

  bind(host: string): void {
    this.#bound = bare(host)
  }

  requireKnown(request: Request): void {
    const host = hostOf(request)
    const name = bare(withoutPort(host))
    if (isLoopback(name) || name === this.#bound || this.#allowed.has(name)) return
    // DNS rebinding needs a name, so an IP address is safe.
    if (this.#bound !== undefined && WILDCARDS.includes(this.#bound) && isIP(name) !== 0) return
    throw new ProblemError(
      'wrong-host',
      `The host ${JSON.stringify(host.slice(0, 100))} is not a name of this server. If it should be, add it to allowedHosts.`,
    )
  }

  /**
   * A change must come from the console or from a program. A browser sends the origin of a request itself. A program without
   * a token must send it too, because nothing else tells its request from that of a foreign page.
   */
  requireSameSite(request: Request, isAuthenticated: boolean): void {
    if (SAFE_METHODS.includes(request.method)) return
    const site = request.headers.get('sec-fetch-site')
    const origin = request.headers.get('origin')
    if (site !== null && site !== 'same-origin' && site !== 'none') throw crossSite()
    const isOwn = origin === this.#publicOrigin || (origin !== null && isOriginOf(origin, hostOf(request)))
    if (origin !== null && !isOwn) throw crossSite()
    if (isAuthenticated || origin !== null || site === 'same-origin') return
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

/** Ignores the scheme, because behind a proxy the console uses https and the server http. */
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
