import type { Clock } from '../../ports/clock.ts'
import type { ServerLog } from '../work/log.ts'
import { CookieSealer } from './cookie-sealer.ts'
import { OidcProvider } from './oidc.ts'
import { ProxyHeaders } from './proxy-headers.ts'
import { PublicAddress } from './public-address.ts'
import { Sessions } from './sessions.ts'
import type { ResolvedSignIn } from './sign-in-options.ts'
import { CALLBACK_PATH, SignInPages } from './sign-in-pages.ts'

/** The parts with which people sign in. Those of a kind that is not configured are undefined. */
export interface SignInParts {
  readonly address: PublicAddress
  readonly proxy?: ProxyHeaders | undefined
  readonly sessions?: Sessions | undefined
  readonly pages?: SignInPages | undefined
  readonly label?: string | undefined
}

/** Throws ClientMissingError if the configuration has `oidc` and the package `openid-client` is not installed. */
export function createSignIn(
  { publicUrl, session, oidc, proxy }: ResolvedSignIn,
  basePath: string,
  around: { readonly clock: Clock; readonly log: ServerLog },
): SignInParts {
  const address = new PublicAddress(publicUrl, basePath)
  const headers = proxy && new ProxyHeaders(proxy)
  if (oidc === undefined || session === undefined) return { address, proxy: headers }
  const sealer = new CookieSealer(session.secrets, address.url)
  const sessions = new Sessions(sealer, address, oidc, session)
  const provider = new OidcProvider(oidc, address.url + CALLBACK_PATH)
  const pages = new SignInPages({ provider, sessions, sealer, address, ...around })
  return { address, proxy: headers, sessions, pages, label: oidc.label }
}
