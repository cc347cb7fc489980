import type { Faults } from './faults.ts'
import { isLoopback } from './loopback.ts'
import { group } from './resolve.ts'
import { custom, entries, list, oneOf, optional, type Rule, text, withDefault } from './rules.ts'

// The server and its config file accept the same ways to sign in by the same rules, so both state them here.

const SECRET_CHARACTERS = 32
const MAX_SECRETS = 10
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/
const IPV6 = /^[\dA-Fa-f:]{2,39}$/
const HEADER = /^[A-Za-z][\w-]{0,99}$/
/** They have a meaning of their own, and every client may send them. */
const OTHER_HEADERS = /^(?:authorization|cookie|host|origin)$/i

/** What a caller of the server may do, from the least to the most. */
export const ROLES = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** How the server knows a caller: `local` is everybody on a loopback address of a server without tokens. */
export const SIGN_IN_KINDS = ['local', 'token', 'oidc', 'proxy'] as const
export type SignInKind = (typeof SIGN_IN_KINDS)[number]

export const roleRule = oneOf(...ROLES)

/** The roles of people by a value that the provider or the proxy gives, such as the name of a group. */
const roleFields = {
  roles: withDefault(
    entries(roleRule, 'give a map of groups to roles, such as { sre: operator, platform: admin }'),
    {},
  ),
  defaultRole: optional(roleRule),
}

function checkRoles(
  { roles, defaultRole }: { readonly roles: object; readonly defaultRole?: unknown },
  fault: (field: 'roles', remedy: string) => void,
): void {
  if (Object.keys(roles).length === 0 && defaultRole === undefined)
    fault('roles', 'give the role of at least one group, or a defaultRole, because nobody could sign in')
}

/** Faults show no part of a secret, and not its length. */
function secretRule(accepts: (value: string) => boolean, remedy: string): Rule<string> {
  return {
    form: { kind: 'text' },
    read(value, path, faults) {
      if (typeof value === 'string' && accepts(value)) return value
      faults.addHidden(path, value, remedy)
      return ''
    },
  }
}

const SECRETS_REMEDY = `give a list of 1 to ${MAX_SECRETS} secrets of ${SECRET_CHARACTERS} characters or more, because they seal the sessions; \`openssl rand -base64 32\` generates one`

export const sessionSecretsRule = listOr(
  secretRule(
    secret => secret.length >= SECRET_CHARACTERS,
    `give a secret of ${SECRET_CHARACTERS} characters or more; \`openssl rand -base64 32\` generates one`,
  ),
  SECRETS_REMEDY,
  MAX_SECRETS,
)

/** The address of the server in browsers. */
export const publicUrlRule = custom(
  isPlainUrl,
  "give the URL that people open in the browser, such as 'https://ops.example.com', without a query",
  { kind: 'text', pattern: /^https?:\/\/./ },
)

/** The path of a URL, without a final slash. */
export function pathOfUrl(url: string): string {
  return new URL(url).pathname.replace(/\/$/, '')
}

const issuerRule = custom(
  (value): value is string => isPlainUrl(value) && isSafeUrl(new URL(value)),
  'give the https URL of the provider, without a query; http is accepted for a loopback address only',
  { kind: 'text', pattern: /^https?:\/\/./ },
)

export const oidcRule = group(
  {
    issuer: issuerRule,
    clientId: text({ maxLength: 500 }),
    clientSecret: optional(
      secretRule(
        secret => secret !== '',
        'give the secret of the client, or leave it out for a public client',
      ),
    ),
    label: withDefault(text({ maxLength: 60 }), 'single sign-on'),
    scopes: withDefault(list(text({ maxLength: 200 }), { minItems: 1, maxItems: 50 }), [
      'openid',
      'email',
      'profile',
    ]),
    nameClaim: withDefault(text({ maxLength: 200 }), 'email'),
    roleClaim: withDefault(text({ maxLength: 200 }), 'groups'),
    ...roleFields,
  },
  (given, fault) => {
    checkRoles(given, fault)
    if (!given.scopes.includes('openid')) fault('scopes', "add 'openid', which asks for the ID token")
  },
)

const headerRule = custom(
  (value): value is string => typeof value === 'string' && HEADER.test(value) && !OTHER_HEADERS.test(value),
  "give the name of a header that the proxy sets, such as 'X-Forwarded-User'",
  { kind: 'text', pattern: HEADER },
)

export const proxySignInRule = group(
  {
    addresses: listOr(
      custom(
        isAddress,
        "give an IP address or a CIDR block, such as '10.0.0.5' or '10.1.0.0/16', but not every address",
        { kind: 'text' },
      ),
      "give the addresses of the proxy, such as ['10.0.0.5', '10.1.0.0/16'], because the server trusts the header only from them",
      1_000,
    ),
    userHeader: withDefault(headerRule, 'X-Forwarded-User'),
    groupsHeader: withDefault(headerRule, 'X-Forwarded-Groups'),
    ...roleFields,
  },
  checkRoles,
)

interface SignIn {
  readonly publicUrl: string
  readonly session?: unknown
  readonly oidc?: unknown
  readonly proxy?: unknown
}

/** Checks the relations between the ways to sign in. */
export function checkSignIn(
  { publicUrl, session, oidc, proxy }: SignIn,
  fault: (field: keyof SignIn, remedy: string) => void,
): void {
  if (oidc === undefined && proxy === undefined) fault('oidc', 'give oidc or proxy, or leave signIn out')
  if (oidc === undefined) return
  if (session === undefined) fault('session', `add session.secrets: ${SECRETS_REMEDY}`)
  if (!isSafeUrl(new URL(publicUrl)))
    fault(
      'publicUrl',
      'give an https URL, because a session must not cross a network in plain text; http is accepted for a loopback address only',
    )
}

/** A list whose absence is explained too. */
function listOr<T>(item: Rule<T>, remedy: string, maxItems: number): Rule<readonly T[]> {
  const rule = list(item, { minItems: 1, maxItems })
  return {
    form: rule.form,
    read(value: unknown, path: string, faults: Faults) {
      if (Array.isArray(value) && value.length > 0 && value.length <= maxItems)
        return rule.read(value, path, faults)
      faults.add(path, value, remedy)
      return []
    },
  }
}

function isPlainUrl(value: unknown): value is string {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false
  return url.search === '' && url.hash === '' && url.username === '' && url.password === ''
}

function isSafeUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || isLoopback(hostname)
}

function isAddress(value: unknown): value is string {
  if (typeof value !== 'string') return false
  const [address = '', prefix, ...rest] = value.split('/')
  const bits = addressBits(address)
  if (bits === undefined || rest.length > 0) return false
  return prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
}

function addressBits(address: string): number | undefined {
  if (IPV4.test(address)) return 32
  return IPV6.test(address) && URL.canParse(`http://[${address}]/`) ? 128 : undefined
}
