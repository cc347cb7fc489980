import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../src/ports/clock.ts'

const CLIENT_ID = 'lazaret'
const LIFETIME_S = 300
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const { privateKey: otherKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })

/** What the issuer puts into its next ID token, and what it does wrong. */
interface Behaviour {
  claims?: Readonly<Record<string, unknown>>
  userinfo?: Readonly<Record<string, unknown>>
  /** Instead of the one of the request. */
  nonce?: string
  clockAheadS?: number
  isForeignKey?: boolean
  isDown?: boolean
}

export interface OidcIssuer {
  readonly url: string
  readonly behaviour: Behaviour
  /** Every request for a token: its path and its form. */
  readonly tokenRequests: readonly URLSearchParams[]
  /** What the provider does while the person signs in: it makes a code for the request. */
  authorize(url: string): { readonly code: string; readonly state: string }
  close(): Promise<void>
}

/** A provider of OpenID Connect that can do wrong what a real one never does. The browser tests use a real one. */
export async function startIssuer(): Promise<OidcIssuer> {
  const behaviour: Behaviour = {}
  const tokenRequests: URLSearchParams[] = []
  const codes = new Map<string, { readonly nonce: string }>()
  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage): Promise<readonly [number, unknown]> {
    if (behaviour.isDown) return [503, {}]
    if (request.url === '/.well-known/openid-configuration') return [200, discovery()]
    if (request.url === '/jwks')
      return [200, { keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'RS256' }] }]
    if (request.url === '/userinfo') return [200, { sub: 'u1', ...behaviour.userinfo }]
    return token(new URLSearchParams(await textOf(request)))
  }

  function discovery() {
    return {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
      userinfo_endpoint: `${url}/userinfo`,
      end_session_endpoint: `${url}/end`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    }
  }

  function token(form: URLSearchParams): readonly [number, unknown] {
    tokenRequests.push(form)
    const asked = codes.get(form.get('code') ?? '')
    if (asked === undefined) return [400, { error: 'invalid_grant' }]
    codes.delete(form.get('code')!)
    const iat = Math.floor(systemClock.now() / 1_000) + (behaviour.clockAheadS ?? 0)
    const times = { iat, exp: iat + LIFETIME_S }
    const claims = { iss: url, aud: CLIENT_ID, sub: 'u1', nonce: behaviour.nonce ?? asked.nonce, ...times }
    const id = jwt({ ...claims, ...behaviour.claims }, behaviour.isForeignKey === true)
    return [
      200,
      { access_token: 'an-access-token', token_type: 'Bearer', id_token: id, expires_in: LIFETIME_S },
    ]
  }

  return {
    url,
    behaviour,
    tokenRequests,
    authorize(asked) {
      const { searchParams } = new URL(asked)
      const code = `code-${codes.size}-${searchParams.get('state')}`
      codes.set(code, { nonce: searchParams.get('nonce')! })
      return { code, state: searchParams.get('state')! }
    },
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
}

function jwt(claims: object, isForeignKey: boolean): string {
  const text = [{ alg: 'RS256', typ: 'JWT' }, claims]
    .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signature = sign('sha256', Buffer.from(text), isForeignKey ? otherKey : privateKey)
  return `${text}.${signature.toString('base64url')}`
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}
