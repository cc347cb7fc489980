import { describe, expect, it } from 'vitest'
import { dumpStore, HOME, PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'
import {
  asProxied,
  asSession,
  HOURS,
  nameAndValue,
  PROXY,
  SECRET,
  SIGN_IN,
  sessionCookie,
  withCookie,
} from '../../test/support/sign-in-world.ts'
import { CookieSealer } from './auth/cookie-sealer.ts'
import { PublicAddress } from './auth/public-address.ts'

const ME = '/api/v1/me'
const DISCARD = { reason: 'x' }
const ANN = 'ann@example.com'

describe('a session', () => {
  it('F8: knows the person by the sealed cookie, and the audit log has the person and the kind of the sign-in', async () => {
    const { ask, tell, bury, make, audited, clock } = serverWorld({ signIn: SIGN_IN })
    const [letter] = await bury(make.letter())
    const { body } = await ask(ME, asSession(ANN, ['operator', 'unknown'], clock.now()))
    expect(body).toMatchObject({ name: `${ANN} (oidc)`, role: 'operator', signIn: 'oidc' })
    const path = `/api/v1/dead-letters/${letter!.id}/discard`
    expect((await tell(path, DISCARD, asSession(ANN, ['operator'], clock.now()))).status).toBe(200)
    expect(await audited()).toEqual([`${ANN} (oidc) letter.discard ${letter!.id}`])
  })

  it('F8: that is forged, foreign or cut is nobody’s', async () => {
    const { ask, clock } = serverWorld({ signIn: SIGN_IN })
    const now = clock.now()
    const good = sessionCookie(ANN, ['admin'], now)
    const [name, value] = good.split('=') as [string, string]
    const bytes = Buffer.from(value, 'base64url')
    const flipped = Buffer.from(bytes.map((byte, index) => (index === 20 ? byte ^ 1 : byte)))
    const plain = { name: ANN, groups: ['admin'], startedAt: now, usedAt: now }
    const ofSignIn = new CookieSealer([SECRET], HOME).seal('sign-in', plain)
    for (const cookie of [
      `${name}=${Buffer.from(JSON.stringify(plain)).toString('base64url')}`,
      `${name}=${flipped.toString('base64url')}`,
      `${name}=${value.slice(0, -4)}`,
      `${name}=`,
      `${name}=${'A'.repeat(5_000)}`,
      `${name}=${ofSignIn}`,
      `other=${value}`,
      sessionCookie(ANN, ['admin'], now, { secret: 'another secret, also long enough to seal' }),
      sessionCookie(ANN, ['admin'], now, { publicUrl: 'http://127.0.0.1:4601' }),
      sessionCookie(ANN, ['nobody'], now),
      sessionCookie(ANN, ['constructor'], now),
    ])
      expect((await ask(ME, withCookie(cookie))).status, cookie.slice(0, 80)).toBe(401)
    expect((await ask(ME, withCookie(good))).status).toBe(200)
    expect((await ask(ME, withCookie(`${name}=garbage; ${good}`))).status).toBe(200)
  })

  it('F8: ends at its age, and after a time without use; use renews it, what the console asks by itself does not', async () => {
    const { ask, clock } = serverWorld({ signIn: SIGN_IN })
    let cookie = sessionCookie(ANN, ['viewer'], clock.now())
    const use = async (how: 'active' | 'idle') => {
      const { status, headers } = await ask(ME, withCookie(cookie, { 'x-lazaret-console': how }))
      const renewed = headers.get('set-cookie')
      if (renewed !== null) cookie = nameAndValue(renewed)
      return [status, renewed !== null]
    }
    expect(await use('active')).toEqual([200, false])
    await clock.advance(0.5 * HOURS)
    expect(await use('idle')).toEqual([200, false])
    expect(await use('active')).toEqual([200, true])
    await clock.advance(0.9 * HOURS)
    expect(await use('idle')).toEqual([200, false])
    await clock.advance(0.1 * HOURS)
    expect(await use('active')).toEqual([401, false])
    cookie = sessionCookie(ANN, ['viewer'], clock.now())
    for (let hour = 0; hour < 15; hour++) {
      await clock.advance(0.5 * HOURS)
      expect(await use('active'), `${hour}`).toEqual([200, true])
    }
    await clock.advance(0.5 * HOURS)
    expect(await use('active')).toEqual([401, false])
  })

  it('F8: of a server whose clock is up to a minute ahead is valid, and not of one from the future', async () => {
    const { ask, clock } = serverWorld({ signIn: SIGN_IN })
    const status = async (aheadMs: number) =>
      (await ask(ME, asSession(ANN, ['viewer'], clock.now() + aheadMs))).status
    expect([await status(59_000), await status(61_000)]).toEqual([200, 401])
  })

  it('F8: is known to every server with the secret, also while the secret changes', async () => {
    const secrets = ['a newer secret of the tests, long enough', SECRET]
    const changed = serverWorld({ signIn: { ...SIGN_IN, session: { secrets } } })
    const old = sessionCookie(ANN, ['viewer'], changed.clock.now())
    expect((await changed.ask(ME, withCookie(old))).status).toBe(200)
    await changed.clock.advance(0.5 * HOURS)
    const renewed = nameAndValue((await changed.ask(ME, withCookie(old))).headers.get('set-cookie')!)
    const onlyNew = serverWorld({
      signIn: { ...SIGN_IN, session: { secrets: [secrets[0]!] } },
      clock: changed.clock,
    })
    expect((await onlyNew.ask(ME, withCookie(old))).status).toBe(401)
    expect((await onlyNew.ask(ME, withCookie(renewed))).status).toBe(200)
  })

  it('F8: its role follows the configuration at once', async () => {
    const roles = { operator: 'viewer' } as const
    const { ask, clock } = serverWorld({ signIn: { ...SIGN_IN, oidc: { ...SIGN_IN.oidc, roles } } })
    expect((await ask(ME, asSession(ANN, ['operator'], clock.now()))).body.role).toBe('viewer')
    expect((await ask(ME, asSession(ANN, ['admin'], clock.now()))).status).toBe(401)
  })

  it.each([
    [
      'http://127.0.0.1:4600',
      undefined,
      /^lazaret-session=[\w-]+; Path=\/; Max-Age=27000; HttpOnly; SameSite=Lax$/,
    ],
    [
      'https://ops.example.com',
      undefined,
      /^__Host-lazaret-session=[\w-]+; Path=\/; Max-Age=27000; HttpOnly; SameSite=Lax; Secure$/,
    ],
    [
      'https://ops.example.com',
      '/lazaret',
      /^__Secure-lazaret-session=[\w-]+; Path=\/lazaret; Max-Age=27000; HttpOnly; SameSite=Lax; Secure$/,
    ],
  ])(
    'F8: at %s%s no script, no other path and no other site has its cookie',
    async (publicUrl, basePath, expected) => {
      const { ask, clock } = serverWorld({ signIn: { ...SIGN_IN, publicUrl }, basePath })
      const sealer = new CookieSealer([SECRET], publicUrl + (basePath ?? ''))
      const now = clock.now()
      const content = { name: ANN, groups: ['viewer'], startedAt: now, usedAt: now }
      await clock.advance(0.5 * HOURS)
      const name = expected.source.slice(1, expected.source.indexOf('='))
      const question = withCookie(`${name}=${sealer.seal('session', content)}`, {
        host: new URL(publicUrl).host,
      })
      const { headers } = await ask((basePath ?? '') + ME, question)
      expect(headers.get('set-cookie')).toMatch(expected)
    },
  )

  it('F8: a wrong token is refused, also beside a session', async () => {
    const { ask, clock } = serverWorld({ signIn: SIGN_IN, tokens: PEOPLE })
    const session = asSession(ANN, ['admin'], clock.now())
    expect((await ask(ME, { ...session, token: 'wrong' })).status).toBe(401)
    expect((await ask(ME, { ...session, token: secretOf('vic') })).body.name).toBe('vic')
    const basic = { ...session.headers, authorization: 'Basic YTpi' }
    expect((await ask(ME, { headers: basic })).body.name).toBe(`${ANN} (oidc)`)
  })

  it('F8: a stream ends with it', async () => {
    const { server, clock } = serverWorld({ signIn: SIGN_IN })
    const open = (headers: Readonly<Record<string, string>> = {}) =>
      server.fetch(new Request(`${HOME}/api/v1/stream`, { headers: { host: '127.0.0.1:4600', ...headers } }))
    const { headers } = asSession(ANN, ['viewer'], clock.now())
    expect((await open()).status).toBe(401)
    expect((await open({ cookie: headers!['cookie']! })).status).toBe(403)
    const { body } = await open(headers)
    const reader = body!.getReader()
    const ended = (async () => {
      for (;;) if ((await reader.read()).done) return clock.now()
    })()
    const start = clock.now()
    await clock.advance(1.1 * HOURS)
    expect(await ended).toBe(start + HOURS)
    await server.close()
  })
})

describe('a page of another site', () => {
  const HOSTILE: readonly Readonly<Record<string, string>>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:9999' },
    { origin: `${HOME}.evil.example` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { origin: HOME, 'sec-fetch-site': 'cross-site' },
  ]

  it.each(['session', 'proxy'])('F8: cannot use a %s: no change, no read, no stream', async kind => {
    const { ask, bury, make, store, clock } = serverWorld({ signIn: SIGN_IN })
    const [letter] = await bury(make.letter())
    const before = await dumpStore(store)
    const own = kind === 'proxy' ? asProxied('ann', 'admin') : asSession(ANN, ['admin'], clock.now())
    const { 'x-lazaret-console': _, ...ambient } = own.headers as Record<string, string>
    const change = { ...own, method: 'POST', json: DISCARD }
    const path = `/api/v1/dead-letters/${letter!.id}/discard`
    for (const headers of HOSTILE) {
      const label = JSON.stringify(headers)
      // A page of another site cannot add the header of the console. Even with it, the origin refuses the request.
      for (const sent of [
        { ...ambient, ...headers },
        { ...own.headers, ...headers },
      ]) {
        expect((await ask(path, { ...change, headers: sent })).status, label).toBe(403)
        for (const read of [ME, '/api/v1/stream', '/api/v1/dead-letters?search=x', '/metrics'])
          expect((await ask(read, { ...own, headers: sent })).status, `${read} ${label}`).toBe(403)
      }
    }
    // Without a word on where it comes from, neither a read nor a change counts.
    expect((await ask(ME, { ...own, headers: ambient })).status).toBe(403)
    const { status } = await ask(path, { ...change, headers: { ...ambient, origin: HOME } })
    expect(status).toBe(403)
    expect(await dumpStore(store)).toEqual(before)
    expect((await ask(path, change)).status).toBe(200)
  })

  it('F8: a browser that asks first whether it may send the header gets no permission', async () => {
    const { ask } = serverWorld({ signIn: SIGN_IN })
    const { status, headers } = await ask(ME, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-headers': 'x-lazaret-console' },
    })
    expect(status).toBe(405)
    expect([...headers.keys()].filter(name => name.startsWith('access-control'))).toEqual([])
  })

  it('F8: cannot sign a person out', async () => {
    const { ask, clock } = serverWorld({ signIn: SIGN_IN })
    const { headers } = asSession(ANN, ['admin'], clock.now())
    for (const hostile of HOSTILE) {
      const answer = await ask('/auth/sign-out', { method: 'POST', headers: { ...headers, ...hostile } })
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([403, null])
    }
  })

  it('F8: cannot make the sign-in lead anywhere but to this server', () => {
    const address = new PublicAddress('https://ops.example.com', '/lazaret')
    for (const to of ['/lazaret/groups/1?a=b&c=d', '/lazaret/letters', '/lazaret/'])
      expect(address.returnPath(to)).toBe(to)
    for (const to of [
      undefined,
      '',
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      '\\\\evil.example',
      'javascript:alert(1)',
      '/lazaret/../evil',
      '/lazaret/%2e%2e/evil',
      '/other',
      '/lazaret-staging/',
      `/lazaret/${'x'.repeat(2_000)}`,
      '/lazaret/\r\nset-cookie: x=y',
    ])
      expect(address.returnPath(to), to).toBe('/lazaret/')
    expect(new PublicAddress('http://127.0.0.1:1', '').returnPath('/@evil.example')).toBe('/@evil.example')
  })
})

describe('a proxy that has authenticated the person', () => {
  it('F8: is believed from its own addresses only', async () => {
    const { ask } = serverWorld({ signIn: SIGN_IN })
    for (const from of [PROXY, `::ffff:${PROXY}`, '10.1.255.255', 'fd00::1', 'fd12::9%eth0'])
      expect((await ask(ME, asProxied('ann', 'x, operator', from))).body, from).toMatchObject({
        name: 'ann (proxy)',
        role: 'operator',
        signIn: 'proxy',
      })
    for (const from of ['10.0.0.6', '10.2.0.1', '127.0.0.1', '::1', 'fe80::1', '::ffff:10.0.0.6']) {
      const { status, body } = await ask(ME, asProxied('ann', 'admin', from))
      expect([status, body.detail], from).toEqual([
        401,
        `The header X-Forwarded-User counts only from the addresses of signIn.proxy.addresses, and this request came from ${from}.`,
      ])
    }
    const { from: _, ...mounted } = asProxied('ann', 'admin')
    expect((await ask(ME, mounted)).status).toBe(401)
    const claimed = {
      ...mounted.headers,
      'x-forwarded-for': PROXY,
      'x-real-ip': PROXY,
      forwarded: `for=${PROXY}`,
    }
    expect((await ask(ME, { headers: claimed, from: '10.9.9.9' })).status).toBe(401)
  })

  it('F8: the headers mean nothing unless they are configured', async () => {
    const { proxy: _, ...oidcOnly } = SIGN_IN
    for (const options of [{ tokens: PEOPLE }, { signIn: oidcOnly }])
      expect((await serverWorld(options).ask(ME, asProxied('ann', 'admin'))).status).toBe(401)
  })

  it.each(['X-Forwarded-Groups', 'x-forwarded-user'])(
    'F8: a header %s that arrives twice counts for nothing, because the client may have sent one of them',
    async name => {
      const { ask } = serverWorld({ signIn: SIGN_IN })
      const once = [
        'Host',
        '127.0.0.1:4600',
        'X-Forwarded-User',
        'ann',
        'X-Forwarded-Groups',
        'admin,operator',
      ]
      const question = asProxied('ann', 'admin,operator')
      expect((await ask(ME, { ...question, rawHeaders: once })).body.role).toBe('admin')
      const { status, body } = await ask(ME, { ...question, rawHeaders: [...once, name, ''] })
      expect([status, body.detail]).toEqual([
        401,
        expect.stringMatching(/^The header X-Forwarded-\w+ arrived twice\. The proxy must set it once/),
      ])
    },
  )

  it('F8: headers are read as UTF-8, or as Latin-1 if they are not UTF-8', async () => {
    const roles = { öps: 'operator' } as const
    const { ask } = serverWorld({ signIn: { ...SIGN_IN, proxy: { ...SIGN_IN.proxy, roles } } })
    /** As Node shows the bytes of a header. */
    const utf8 = (text: string) => Buffer.from(text, 'utf8').toString('latin1')
    for (const [name, group] of [
      [utf8('Jörg Müller'), utf8('öps')],
      ['Jörg Müller', 'öps'],
    ] as const)
      expect((await ask(ME, asProxied(name, group))).body).toMatchObject({
        name: 'Jörg Müller (proxy)',
        role: 'operator',
      })
    for (const name of [utf8('Jörg\u202eMüller'), utf8('a\ufeffnn')])
      expect((await ask(ME, asProxied(name, utf8('öps')))).status).toBe(401)
  })

  it('F8: a name that came twice, or that nobody can read, is nobody’s; without a role nobody gets in', async () => {
    const { ask } = serverWorld({ signIn: SIGN_IN })
    for (const name of ['mallory, ann', ' ', 'x'.repeat(201), 'a\u00adb'])
      expect((await ask(ME, asProxied(name, 'admin'))).status, name).toBe(401)
    const { status, body } = await ask(ME, asProxied('ann', 'constructor,__proto__'))
    expect([status, body.detail]).toEqual([
      403,
      'None of the groups of ann has a role on this server. Ask its administrator to add one to signIn.proxy.roles.',
    ])
  })
})
