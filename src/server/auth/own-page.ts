import { ProblemError } from '../problem.ts'
import type { PublicAddress } from './public-address.ts'

/**
 * The console sends this header with every request: `active` after a key or a click of the person, else `idle`. A page of
 * another site cannot send it, because a browser asks the server first, and the server never agrees.
 */
const CONSOLE_HEADER = 'x-lazaret-console'
const SAFE_METHODS = ['GET', 'HEAD']

/**
 * A browser adds cookies to every request, and a proxy adds its headers, whichever page sends the request. So such a
 * request counts only if it proves that a page of this server sent it: by the header of the console, and by the origin
 * that the browser names. This holds for reading and for streams too.
 */
export function requireOwnPage({ headers, method }: Request, { origin: own }: PublicAddress): void {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  const isForeign = (site !== null && site !== 'same-origin') || (origin !== null && origin !== own)
  if (isForeign)
    throw new ProblemError(
      'cross-site',
      `A page of another site sent this request. Use the console at ${own}, or a token.`,
    )
  const isNamed = site !== null || origin !== null || SAFE_METHODS.includes(method)
  if (isNamed && headers.has(CONSOLE_HEADER)) return
  throw new ProblemError(
    'cross-site',
    'A request without a token needs the header X-Lazaret-Console, and a change needs Origin too. Use the console, or a token.',
  )
}

/** Whether a person did something shortly before the request. The console also sends requests by itself. */
export function isActive({ headers }: Request): boolean {
  return headers.get(CONSOLE_HEADER) === 'active'
}
