import type * as Oidc from 'openid-client'

type Claims = Readonly<Record<string, unknown>>
type Tokens = Awaited<ReturnType<typeof Oidc.authorizationCodeGrant>>

/** The claims of the ID token, and those that only the userinfo endpoint has, if a wanted one is missing. */
export async function claimsOf(
  client: typeof Oidc,
  configuration: Oidc.Configuration,
  tokens: Tokens,
  wanted: readonly string[],
): Promise<Claims> {
  // The check of the nonce has made sure that there is an ID token.
  const claims = tokens.claims()!
  const isComplete = wanted.every(name => valueIn(claims, name) !== undefined)
  if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims
  return { ...(await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims }
}

/** The value of a claim. A name with dots may be the whole name, such as a URL, or a path into objects. */
export function valueIn(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let inner: unknown = claims
  for (const step of name.split('.')) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, step)) return undefined
    inner = (inner as Claims)[step]
  }
  return inner
}

/** A claim has one group as a text, or several as a list. */
export function groupsIn(value: unknown): string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  return values.filter(each => typeof each === 'string')
}
