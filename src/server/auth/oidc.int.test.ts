import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type OidcIssuer, startIssuer } from '../../../test/support/oidc-issuer.ts'
import { HOME, type Question, type ServerWorld, serverWorld } from '../../../test/support/server-world.ts'
import { nameAndValue, SECRET } from '../../../test/support/sign-in-world.ts'
import { systemClock } from '../../ports/clock.ts'
import type { LogFields } from '../../ports/logger.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import type { OidcProvider } from './oidc.ts'
import { PublicAddress } from './public-address.ts'
import type { Sessions } from './sessions.ts'
import { SignInPages } from './sign-in-pages.ts'

const CLIENT_SECRET = 'secret-of-the-client'
const CLAIMS = { email: 'ann@example.com', groups: ['staff', 'sre'] }
const DEEP = '/letters/0198?tab=cycles'

let issuer: OidcIssuer
let lines: { readonly level: string; readonly fields: LogFields }[]
beforeEach(async () => {
  issuer = await startIssuer()
  issuer.behaviour.claims = CLAIMS
  lines = []
})
afterEach(() => issuer.close())

function signInWorld(oidc: object = {}): ServerWorld {
  const at = (level: string) => (fields: LogFields) => void lines.push({ level, fields })
  return serverWorld({
    clock: systemClock,
    logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    signIn: {
      publicUrl: HOME,
      session: { secrets: [SECRET] },
      oidc: {
        issuer: issuer.url,
        clientId: 'lazaret',
        clientSecret: CLIENT_SECRET,
        roles: { sre: 'operator', platform: 'admin' },
        ...oidc,
      },
    },
  })
}

/** Leaves for the provider, as a browser does. */
async function leave({ ask }: ServerWorld, to = DEEP) {
  const { status, headers } = await ask(`/auth/sign-in?to=${encodeURIComponent(to)}`)
  const location = headers.get('location')!
  return { status, location, cookie: nameAndValue(headers.get('set-cookie') ?? '') }
}

/** Comes back from the provider with a code. */
async function comeBack({ ask }: ServerWorld, { location, cookie }: { location: string; cookie: string }) {
  const { code, state } = issuer.authorize(location)
  return visit(ask, `/auth/callback?code=${code}&state=${state}`, { headers: { cookie } })
}

async function visit(ask: ServerWorld['ask'], path: string, question: Question = {}) {
  const { status, headers } = await ask(path, question)
  return { status, location: headers.get('location'), cookies: headers.getSetCookie() }
}

async function signIn(world: ServerWorld) {
  return comeBack(world, await leave(world))
}

describe('signing in by OpenID Connect', () => {
  it('F8: asks with code flow, PKCE, state and nonce, and returns to the link with a session', async () => {
    const world = signInWorld()
    const left = await leave(world)
    const { origin, pathname, searchParams } = new URL(left.location)
    expect([left.status, origin + pathname]).toEqual([303, `${issuer.url}/authorize`])
    expect(Object.fromEntries(searchParams)).toEqual({
      client_id: 'lazaret',
      response_type: 'code',
      redirect_uri: `${HOME}/auth/callback`,
      scope: 'openid email profile',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    })
    const { status, location, cookies } = await comeBack(world, left)
    expect([status, location]).toEqual([303, DEEP])
    expect(cookies).toEqual([
      expect.stringMatching(
        /^lazaret-sign-in-[\w-]{12}=; Path=\/auth\/callback; Max-Age=0; HttpOnly; SameSite=Lax$/,
      ),
      expect.stringMatching(/^lazaret-session=[\w-]+; Path=\/; Max-Age=28800; HttpOnly; SameSite=Lax$/),
    ])
    const headers = { cookie: nameAndValue(cookies[1]!), 'x-lazaret-console': 'active' }
    expect((await world.ask('/api/v1/me', { headers })).body).toMatchObject({
      name: 'ann@example.com (oidc)',
      role: 'operator',
    })
    expect(lines.map(({ fields }) => fields)).toEqual([{ what: 'signed_in', by: 'ann@example.com (oidc)' }])
  })

  it('F8: proves to the provider that the same browser asked, and never names the verifier in an address', async () => {
    const left = await leave(signInWorld())
    const world = signInWorld()
    // Another server with the same secret finishes what the first one began.
    expect((await comeBack(world, left)).location).toBe(DEEP)
    const [form] = issuer.tokenRequests
    expect(form!.get('code_verifier')).toMatch(/^[\w-]{43}$/)
    expect(left.location).not.toContain(form!.get('code_verifier')!)
    expect(left.cookie).not.toContain(form!.get('code_verifier')!)
    expect([form!.get('redirect_uri'), form!.get('client_secret')]).toEqual([`${HOME}/auth/callback`, null])
  })

  it('F8: an answer that this browser did not ask for, or that comes again, signs nobody in', async () => {
    const world = signInWorld()
    const { ask } = world
    const left = await leave(world)
    const { code, state } = issuer.authorize(left.location)
    const path = `/auth/callback?code=${code}&state=${state}`
    const expired = { status: 303, location: '/#sign-in-problem=expired', cookies: [] }
    expect(await visit(ask, path)).toEqual(expired)
    const other = await leave(world)
    expect(await visit(ask, path, { headers: { cookie: other.cookie } })).toEqual(expired)
    // A cookie under the name of another state.
    const moved = `${left.cookie.split('=')[0]}=${other.cookie.split('=')[1]}`
    expect(await visit(ask, path, { headers: { cookie: moved } })).toEqual(expired)
    const headers = { cookie: left.cookie }
    for (const query of [
      '',
      '?state=',
      `?code=${code}`,
      '?state=../../x&code=y',
      `?code=${code}&state=${'x'.repeat(300)}`,
    ])
      expect(await visit(ask, `/auth/callback${query}`, { headers })).toEqual(expired)
    expect((await visit(ask, path, { headers })).location).toBe(DEEP)
    // The same answer again, with a copy of the cookie: the provider takes a code once.
    const again = await visit(ask, path, { headers })
    expect(again.location).toBe(`${DEEP}#sign-in-problem=failed`)
    expect(again.cookies.join()).not.toContain('lazaret-session')
  })

  it('F8: takes no longer than ten minutes', async () => {
    const world = serverWorld({
      signIn: {
        publicUrl: HOME,
        session: { secrets: [SECRET] },
        oidc: { issuer: issuer.url, clientId: 'lazaret', roles: { sre: 'operator' } },
      },
    })
    const [soon, late] = [await leave(world), await leave(world)]
    await world.clock.advance(599_000)
    expect((await comeBack(world, soon)).location).toBe(DEEP)
    await world.clock.advance(1_000)
    expect((await comeBack(world, late)).location).toBe('/#sign-in-problem=expired')
  })

  it.each<[string, OidcIssuer['behaviour'], string]>([
    ['another nonce', { nonce: 'of another sign-in' }, 'failed'],
    ['a signature of another key', { isForeignKey: true }, 'failed'],
    ['a token for another client', { claims: { ...CLAIMS, aud: 'another' } }, 'failed'],
    ['a token of another issuer', { claims: { ...CLAIMS, iss: 'https://evil.example' } }, 'failed'],
    ['a clock 10 minutes behind', { clockAheadS: -600 }, 'clock'],
    ['no name', { claims: { groups: ['sre'] } }, 'no-name'],
    ['a name that is no text', { claims: { ...CLAIMS, email: ['ann'] } }, 'no-name'],
    ['an email that is not verified', { claims: { ...CLAIMS, email_verified: false } }, 'unverified'],
    [
      'an email that a text calls not verified',
      { claims: { ...CLAIMS, email_verified: 'false' } },
      'unverified',
    ],
    ['an email that is verified by 0', { claims: { ...CLAIMS, email_verified: 0 } }, 'unverified'],
    [
      'an unverified email of the userinfo endpoint',
      { claims: { groups: ['sre'] }, userinfo: { email: CLAIMS.email, email_verified: 'False' } },
      'unverified',
    ],
    ['no group with a role', { claims: { ...CLAIMS, groups: ['staff', 'constructor'] } }, 'no-role'],
    ['no groups', { claims: { email: CLAIMS.email } }, 'no-role'],
  ])('F8: with %s nobody is signed in', async (_, behaviour, problem) => {
    Object.assign(issuer.behaviour, behaviour)
    const { location, cookies } = await signIn(signInWorld())
    expect(location).toBe(`${DEEP}#sign-in-problem=${problem}`)
    expect(cookies.join()).not.toContain('lazaret-session')
    expect(lines.map(({ fields }) => [fields['what'], fields['problem']])).toEqual([
      ['sign_in_failed', problem],
    ])
  })

  it.each([true, 'true'])('F8: an email whose verification is %j signs people in', async verified => {
    issuer.behaviour.claims = { ...CLAIMS, email_verified: verified }
    expect((await signIn(signInWorld())).location).toBe(DEEP)
  })

  it.each([-30, 30])('F8: a provider whose clock differs by %s s signs people in', async clockAheadS => {
    issuer.behaviour.clockAheadS = clockAheadS
    expect((await signIn(signInWorld())).location).toBe(DEEP)
  })

  it.each<[string, object, OidcIssuer['behaviour'], string]>([
    ['a group as a text', {}, { claims: { ...CLAIMS, groups: 'platform' } }, 'admin'],
    ['the highest of several', {}, { claims: { ...CLAIMS, groups: ['sre', 'platform'] } }, 'admin'],
    [
      'a path into objects',
      { roleClaim: 'realm_access.roles' },
      { claims: { ...CLAIMS, realm_access: { roles: ['platform'] } } },
      'admin',
    ],
    [
      'a claim whose name is a URL',
      { roleClaim: 'https://example.com/roles' },
      { claims: { ...CLAIMS, 'https://example.com/roles': ['sre'] } },
      'operator',
    ],
    [
      'claims of the userinfo endpoint',
      {},
      { claims: { email: CLAIMS.email }, userinfo: { groups: ['sre'] } },
      'operator',
    ],
    ['the default role', { defaultRole: 'viewer' }, { claims: { email: CLAIMS.email } }, 'viewer'],
  ])('F8: a role comes from %s', async (_, oidc, behaviour, role) => {
    Object.assign(issuer.behaviour, behaviour)
    const world = signInWorld(oidc)
    const { cookies } = await signIn(world)
    const headers = { cookie: nameAndValue(cookies[1]!), 'x-lazaret-console': 'active' }
    expect((await world.ask('/api/v1/me', { headers })).body.role).toBe(role)
  })

  it('F8: a person in many groups with a role has a session that a browser stores and the server accepts', async () => {
    const teams = Array.from({ length: 200 }, (_, index) => `CN=team-${index},OU=groups,DC=example,DC=com`)
    const roles = {
      ...Object.fromEntries(teams.map(team => [team, 'operator'])),
      'the people of the platform': 'admin',
    }
    issuer.behaviour.claims = {
      ...CLAIMS,
      email: 'ö'.repeat(200),
      groups: [...teams, 'the people of the platform'],
    }
    const world = signInWorld({ roles })
    const { cookies } = await signIn(world)
    expect(cookies[1]!.length).toBeLessThan(4_096)
    const headers = { cookie: nameAndValue(cookies[1]!), 'x-lazaret-console': 'active' }
    expect((await world.ask('/api/v1/me', { headers })).body).toMatchObject({ role: 'admin' })
    // If the configuration takes the role from one group, the session has others with a role.
    const { 'the people of the platform': _, ...operators } = roles
    expect((await signInWorld({ roles: operators }).ask('/api/v1/me', { headers })).body).toMatchObject({
      role: 'operator',
    })
  })

  it('F8: a person whose group has a name that is too long for a session is told so', async () => {
    const long = 'x'.repeat(2_000)
    issuer.behaviour.claims = { ...CLAIMS, groups: ['sre', long] }
    const { location, cookies } = await signIn(signInWorld({ roles: { sre: 'viewer', [long]: 'admin' } }))
    expect(location).toBe(`${DEEP}#sign-in-problem=failed`)
    expect(cookies.join()).not.toContain('lazaret-session')
    expect(lines[0]!.fields).toMatchObject({
      error: expect.stringContaining('use groups with shorter names'),
    })
  })

  it('F8: a person whom the provider refuses comes back to the link, and is told', async () => {
    const world = signInWorld()
    const { location, cookie } = await leave(world)
    const { state } = issuer.authorize(location)
    const path = `/auth/callback?error=access_denied&error_description=%3Cscript%3E&state=${state}`
    expect((await visit(world.ask, path, { headers: { cookie } })).location).toBe(
      `${DEEP}#sign-in-problem=refused`,
    )
  })

  it('F8: leads nowhere but to this server', async () => {
    const world = signInWorld()
    for (const to of ['https://evil.example/', '//evil.example', '/\\evil.example'])
      expect((await comeBack(world, await leave(world, to))).location, to).toBe('/')
  })
})

describe('a provider that is down', () => {
  it('F8: at the start does not keep the server down; the log says that nobody can sign in, until it answers', async () => {
    issuer.behaviour.isDown = true
    const world = signInWorld()
    const { port, close } = await world.server.listen({ port: 0 })
    await expect.poll(() => lines.length).toBe(1)
    expect(lines[0]).toMatchObject({
      level: 'warn',
      fields: { what: 'sign_in_provider_down', issuer: issuer.url },
    })
    const begin = () => fetch(`http://127.0.0.1:${port}/auth/sign-in?to=${DEEP}`, { redirect: 'manual' })
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
    expect((await begin()).headers.get('location')).toBe(`${DEEP}#sign-in-problem=unreachable`)
    issuer.behaviour.isDown = false
    expect((await begin()).headers.get('location')).toContain(`${issuer.url}/authorize`)
    await close()
  })

  it('F8: during a sign-in leaves the person where they were, and the next try works', async () => {
    const world = signInWorld()
    const left = await leave(world)
    issuer.behaviour.isDown = true
    expect((await comeBack(world, left)).location).toBe(`${DEEP}#sign-in-problem=unreachable`)
    issuer.behaviour.isDown = false
    expect((await signIn(world)).location).toBe(DEEP)
  })

  it('F8: whose address nobody answers at is reported the same way', async () => {
    const world = signInWorld({ issuer: 'http://127.0.0.1:9' })
    const { location } = await visit(world.ask, '/auth/sign-in')
    expect(location).toBe('/#sign-in-problem=unreachable')
  })
})

describe('signing out', () => {
  it('F8: waits 2 s at most for a provider that does not answer', async () => {
    const clock = new FakeClock()
    const address = new PublicAddress(HOME, '')
    const provider = { endUrl: () => new Promise(() => {}) } as unknown as OidcProvider
    const sessions = { end: () => ['lazaret-session='] } as unknown as Sessions
    const parts = { provider, sessions, address, clock } as never
    const headers = { origin: HOME, 'x-lazaret-console': 'active' }
    const answer = new SignInPages(parts).end(
      new Request(`${HOME}/auth/sign-out`, { method: 'POST', headers }),
    )
    await clock.advance(2_000)
    const answered = await answer
    expect(answered.headers.get('set-cookie')).toBe('lazaret-session=')
    expect(await answered.json()).toEqual({ url: `${HOME}/` })
  })

  it('F8: ends the session in the browser and names the page of the provider', async () => {
    const world = signInWorld()
    const { cookies } = await signIn(world)
    const headers = { cookie: nameAndValue(cookies[1]!), 'x-lazaret-console': 'active' }
    const { status, body, headers: answered } = await world.ask('/auth/sign-out', { method: 'POST', headers })
    expect(status).toBe(200)
    expect(answered.get('set-cookie')).toMatch(/^lazaret-session=; Path=\/; Max-Age=0; /)
    const url = new URL(body.url)
    expect([url.origin + url.pathname, url.searchParams.get('post_logout_redirect_uri')]).toEqual([
      `${issuer.url}/end`,
      `${HOME}/`,
    ])
  })

  it('F8: ends a session that an answer under way renews, on every server, and the next sign-in works', async () => {
    const world = signInWorld()
    const session = nameAndValue((await signIn(world)).cookies[1]!)
    const active = { 'x-lazaret-console': 'active' }
    const asked = { method: 'POST', headers: { cookie: session, ...active } }
    const { headers } = await world.ask('/auth/sign-out', asked)
    const signedOut = headers.getSetCookie().map(nameAndValue)[1]!
    // The answer that was under way puts the session back into the browser, beside the cookie of the sign-out.
    const restored = { headers: { cookie: `${session}; ${signedOut}`, ...active } }
    for (const { ask } of [world, signInWorld()]) expect((await ask('/api/v1/me', restored)).status).toBe(401)
    const next = nameAndValue((await signIn(world)).cookies[1]!)
    const back = { headers: { cookie: `${next}; ${signedOut}`, ...active } }
    expect((await world.ask('/api/v1/me', back)).status).toBe(200)
    // After the next sign-out in the same browser the first session is still over.
    const again = await world.ask('/auth/sign-out', { method: 'POST', ...back })
    const both = again.headers.getSetCookie().map(nameAndValue)[1]!
    for (const ended of [session, next]) {
      const late = { headers: { cookie: `${ended}; ${both}`, ...active } }
      expect((await world.ask('/api/v1/me', late)).status).toBe(401)
    }
  })
})

it('F8: no secret, code or token is in a log line, an address or an answer', async () => {
  const world = signInWorld()
  const seen: unknown[] = []
  for (const behaviour of [
    {},
    { nonce: 'x' },
    { isForeignKey: true },
    { clockAheadS: -600 },
    { isDown: true },
  ]) {
    Object.assign(
      issuer.behaviour,
      { nonce: undefined, isForeignKey: false, clockAheadS: 0, isDown: false },
      behaviour,
    )
    const left = await leave(world)
    if (left.cookie === '') continue
    seen.push(left.location, left.cookie, await comeBack(world, left))
  }
  const verifiers = issuer.tokenRequests.flatMap(form => [form.get('code_verifier')!, form.get('code')!])
  const text = JSON.stringify([seen, lines, world.errors])
  for (const secret of [SECRET, CLIENT_SECRET, 'an-access-token', 'eyJ', ...verifiers])
    expect(text).not.toContain(secret)
  expect(lines.length).toBeGreaterThan(3)
})
