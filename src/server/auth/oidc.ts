import { createRequire } from 'node:module'
import type * as Oidc from 'openid-client'
import { requireClient } from '../../adapter-kit/load-client.ts'
import type { SignInProblem } from '../schema/me.ts'
import { personName } from './caller.ts'
import { claimsOf, groupsIn, valueIn } from './claims.ts'
import { keptGroups, type RoleMap, roleOf } from './roles.ts'
import { CLOCK_TOLERANCE_MS, type Person } from './sessions.ts'

const require = createRequire(import.meta.url)
const TIMEOUT_S = 10

interface OidcSettings extends RoleMap {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string | undefined
  readonly scopes: readonly string[]
  readonly nameClaim: string
  readonly roleClaim: string
}

/** What a sign-in has to prove when the person comes back from the provider. */
export interface PendingSignIn {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** A sign-in that failed. The message is for the log of the server, and has no part of a token. */
export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly problem: SignInProblem

  constructor(problem: SignInProblem, message: string) {
    super(message)
    this.problem = problem
  }
}

/**
 * Signs people in by OpenID Connect: authorization code flow with PKCE, state and nonce. The discovery document is read
 * when it is first needed, and again until the provider answers, so a provider that is down does not keep the server down.
 */
export class OidcProvider {
  readonly #settings: OidcSettings
  readonly #redirectUri: string
  readonly #client: typeof Oidc
  #configuration: Promise<Oidc.Configuration> | undefined

  constructor(settings: OidcSettings, redirectUri: string) {
    this.#settings = settings
    this.#redirectUri = redirectUri
    this.#client = requireClient('openid-client', () => require('openid-client') as typeof Oidc)
  }

  get issuer(): string {
    return this.#settings.issuer
  }

  /** Throws SignInError if the provider does not answer. */
  discover(): Promise<Oidc.Configuration> {
    this.#configuration ??= this.#discover().catch((error: unknown) => {
      this.#configuration = undefined
      throw this.#explained(error)
    })
    return this.#configuration
  }

  async begin(): Promise<PendingSignIn & { readonly url: URL }> {
    const client = this.#client
    const configuration = await this.discover()
    const verifier = client.randomPKCECodeVerifier()
    const pending = { state: client.randomState(), nonce: client.randomNonce(), verifier }
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri,
      scope: this.#settings.scopes.join(' '),
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state: pending.state,
      nonce: pending.nonce,
    })
    return { ...pending, url }
  }

  /** `search` is the query with which the provider sent the person back. */
  async finish(search: string, { state, nonce, verifier }: PendingSignIn): Promise<Person> {
    const configuration = await this.discover()
    const url = new URL(this.#redirectUri)
    url.search = search
    try {
      const tokens = await this.#client.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
      })
      const claims = await claimsOf(this.#client, configuration, tokens, [
        this.#settings.nameClaim,
        this.#settings.roleClaim,
      ])
      return this.#person(claims)
    } catch (error) {
      throw this.#explained(error)
    }
  }

  /** The page of the provider that ends its own session too; undefined if it has none. */
  async endUrl(returnTo: string): Promise<string | undefined> {
    const configuration = await this.discover().catch(() => undefined)
    if (configuration?.serverMetadata().end_session_endpoint === undefined) return undefined
    return this.#client.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnTo }).href
  }

  #discover(): Promise<Oidc.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings
    const client = this.#client
    const metadata = { [client.clockTolerance]: CLOCK_TOLERANCE_MS / 1_000 }
    const isPlain = new URL(issuer).protocol === 'http:'
    // Without these checks the client relies on TLS alone, and does not verify the signature of the ID token.
    const checks = [client.enableNonRepudiationChecks]
    const execute = isPlain ? [...checks, client.allowInsecureRequests] : checks
    return client.discovery(new URL(issuer), clientId, metadata, this.#authentication(clientSecret), {
      timeout: TIMEOUT_S,
      execute,
    })
  }

  /** Basic authentication unless the provider accepts the secret in the body only. */
  #authentication(secret: string | undefined): Oidc.ClientAuth {
    const { None, ClientSecretBasic, ClientSecretPost } = this.#client
    if (secret === undefined) return None()
    return (server, ...rest) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const authenticate = methods.includes('client_secret_basic') ? ClientSecretBasic : ClientSecretPost
      authenticate(secret)(server, ...rest)
    }
  }

  #person(claims: Readonly<Record<string, unknown>>): Person {
    const { nameClaim, roleClaim } = this.#settings
    const name = personName(valueIn(claims, nameClaim))
    if (name === undefined)
      throw new SignInError(
        'no-name',
        `the provider sent no usable claim '${nameClaim}'; set nameClaim to a claim that it sends, or add its scope to scopes`,
      )
    if (nameClaim === 'email' && !mayBeVerified(claims['email_verified']))
      throw new SignInError('unverified', `the provider has not verified the email of ${name}`)
    const groups = groupsIn(valueIn(claims, roleClaim))
    const role = roleOf(this.#settings, groups)
    if (role === undefined)
      throw new SignInError(
        'no-role',
        `no value of the claim '${roleClaim}' of ${name} has a role; the claim has ${groups.length} values. Add one of them to roles, or set defaultRole`,
      )
    const kept = keptGroups(this.#settings, groups)
    if (roleOf(this.#settings, kept) !== role)
      throw new SignInError(
        'failed',
        `the group that makes ${name} ${role} has no room in the cookie of a session; use groups with shorter names`,
      )
    return { name, groups: kept }
  }

  /** Takes from an error of the client what says nothing of tokens: its code, and the code of the provider. */
  #explained(error: unknown): SignInError {
    if (error instanceof SignInError) return error
    const { issuer } = this.#settings
    const { AuthorizationResponseError, ResponseBodyError } = this.#client
    if (error instanceof AuthorizationResponseError)
      return new SignInError('refused', `${issuer} refused the sign-in: ${error.error}`)
    if (error instanceof ResponseBodyError)
      return new SignInError('failed', `${issuer} refused the code: ${error.error}`)
    const { code, message, name } = error as Error & { readonly code?: unknown }
    if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED')
      return new SignInError('clock', `the clocks of ${issuer} and of this server differ; set both by NTP`)
    if (name === 'TimeoutError' || code === 'OAUTH_TIMEOUT' || code === undefined || isServerFault(error))
      return new SignInError('unreachable', `${issuer} does not answer: ${message}`)
    return new SignInError('failed', `the answer of ${issuer} is not valid: ${message} (${String(code)})`)
  }
}

/** Some providers leave the claim out, and some send it as a text. Any other value does not say that the email is verified. */
function mayBeVerified(claim: unknown): boolean {
  return claim === undefined || claim === true || claim === 'true'
}

/** The discovery document or the token endpoint answered with a fault of the provider's side. */
function isServerFault(error: unknown): boolean {
  const { cause } = error as Error
  const response = (cause as { readonly cause?: unknown } | undefined)?.cause ?? cause
  return response instanceof Response && response.status >= 500
}
