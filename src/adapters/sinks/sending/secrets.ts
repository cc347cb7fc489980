/** Shorter ones are as likely to be words of an answer as secrets. */
const MIN_SECRET_LENGTH = 4
const NAMES_A_SECRET = /auth|cookie|credential|key|pass|secret|sig|token/i
const SCHEME = /^(?:basic|bearer|apikey|token) +/i

/** Removes secrets from a receiver's answer. The longest first: a shorter one may be the beginning of it. */
export function masking(secrets: readonly string[]): (said: string) => string {
  const known = secrets
    .filter(secret => secret.length >= MIN_SECRET_LENGTH)
    .sort((a, b) => b.length - a.length)
  return said => known.reduce((shown, secret) => shown.replaceAll(secret, '***'), said)
}

/** The secrets in headers, recognised by header name. The scheme in front of a secret is not secret. */
export function secretsIn(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers)
    .filter(([name]) => NAMES_A_SECRET.test(name))
    .map(([, value]) => value.replace(SCHEME, ''))
}
