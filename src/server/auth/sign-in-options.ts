import { group, type Resolved } from '../../core/options/resolve.ts'
import { milliseconds, optional, withDefault } from '../../core/options/rules.ts'
import type { Role } from '../../core/options/sign-in.ts'
import {
  checkSignIn,
  oidcRule,
  proxySignInRule,
  publicUrlRule,
  sessionSecretsRule,
} from '../../core/options/sign-in.ts'

/** How people sign in to the console, beside tokens. Give `oidc`, `proxy` or both. */
export interface SignInOptions {
  /**
   * The URL that people open in the browser, such as `https://ops.example.com`. The server never derives it from the header
   * `Host`. Its path is that of `basePath`, and may be left out. Its host is a name of the server, beside `allowedHosts`.
   */
  readonly publicUrl: string
  /** The sessions of people who have signed in [none; `oidc` needs it]. */
  readonly session?: SessionOptions | undefined
  /** Sign-in by a provider of OpenID Connect; it needs the package `openid-client` [none]. */
  readonly oidc?: OidcOptions | undefined
  /** Sign-in by a proxy that puts the name of the person into a header [none: such a header means nothing]. */
  readonly proxy?: ProxySignInOptions | undefined
}

/** The sessions of people who have signed in. A session is in a sealed cookie, so several servers can share it. */
export interface SessionOptions {
  /**
   * Texts of 32 characters or more. The first one seals new sessions, all of them open sessions: to change the secret,
   * put a new one in front, and remove the old one after `maxAgeMs`.
   */
  readonly secrets: readonly string[]
  /** How long a session lasts at most, in milliseconds [8 hours]. */
  readonly maxAgeMs?: number | undefined
  /** After which time without use a session ends, in milliseconds [1 hour]. */
  readonly idleMs?: number | undefined
}

interface RoleOptions {
  /** The role of each group [none]. A person with several gets the highest role. */
  readonly roles?: Readonly<Record<string, Role>> | undefined
  /** The role of people without such a group [none: they cannot sign in]. */
  readonly defaultRole?: Role | undefined
}

/** Sign-in by a provider of OpenID Connect: authorization code flow with PKCE, state and nonce. */
export interface OidcOptions extends RoleOptions {
  /** The URL of the provider, as its discovery document names it. http is accepted for a loopback address only. */
  readonly issuer: string
  /** The ID under which the provider knows this server. */
  readonly clientId: string
  /** The secret of the client [none: a public client]. */
  readonly clientSecret?: string | undefined
  /** The name of the provider on the sign-in page [single sign-on]. */
  readonly label?: string | undefined
  /** The scopes that the server asks for [openid, email, profile]. */
  readonly scopes?: readonly string[] | undefined
  /** The claim that names the person in the audit log [email]. */
  readonly nameClaim?: string | undefined
  /** The claim with the groups of the person; a path such as `realm_access.roles` leads into objects [groups]. */
  readonly roleClaim?: string | undefined
}

/** Sign-in by a proxy that has authenticated the person. */
export interface ProxySignInOptions extends RoleOptions {
  /** The addresses of the proxy, as IP addresses or CIDR blocks. From any other address the headers mean nothing. */
  readonly addresses: readonly string[]
  /** The header with the name of the person [X-Forwarded-User]. */
  readonly userHeader?: string | undefined
  /** The header with the groups of the person, separated by commas [X-Forwarded-Groups]. */
  readonly groupsHeader?: string | undefined
}

const DEFAULT_MAX_AGE_MS = 28_800_000
const DEFAULT_IDLE_MS = 3_600_000
const SHORTEST_MS = 60_000
const LONGEST_MS = 1_209_600_000

const session = group({
  secrets: sessionSecretsRule,
  maxAgeMs: withDefault(milliseconds({ min: SHORTEST_MS, max: LONGEST_MS }), DEFAULT_MAX_AGE_MS),
  idleMs: withDefault(milliseconds({ min: SHORTEST_MS, max: LONGEST_MS }), DEFAULT_IDLE_MS),
})

const rules = {
  publicUrl: publicUrlRule,
  session: optional(session),
  oidc: optional(oidcRule),
  proxy: optional(proxySignInRule),
}

export const signInRule = group(rules, checkSignIn)
export type ResolvedSignIn = Resolved<typeof rules>
