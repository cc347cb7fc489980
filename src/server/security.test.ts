import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { dumpStore, HOME, PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'

const DISCARD = { reason: 'x' }

describe('access to the server', () => {
  it('F8: a name that is not the server’s own is refused: DNS rebinding', async () => {
    const { ask } = serverWorld({ allowedHosts: ['dlq.example.com'], tokens: PEOPLE })
    const status = async (host: string) =>
      (await ask('/api/v1/me', { headers: { host }, token: secretOf('vic') })).status
    for (const host of [
      '127.0.0.1:4600',
      'localhost',
      'LOCALHOST:80',
      '[::1]:4600',
      '127.9.9.9',
      'a.localhost',
    ])
      expect(await status(host), host).toBe(200)
    expect(await status('dlq.example.com:443')).toBe(200)
    for (const host of [
      'evil.com',
      '127.0.0.1.evil.com',
      'localhost.evil.com',
      '10.0.0.5',
      'example.com',
      '0.0.0.0',
      '::',
    ])
      expect(await status(host), host).toBe(421)
  })

  it('F8: a public host name needs tokens, because without tokens every client is admin', () => {
    for (const allowedHosts of [['dlq.example.com'], ['localhost', '10.0.0.5'], ['0.0.0.0']])
      expect(() => serverWorld({ allowedHosts })).toThrow(
        'allowedHosts: got an array of ' +
          `${allowedHosts.length}; give tokens as well, because without tokens everyone is admin, or leave allowedHosts out`,
      )
    expect(() => serverWorld({ allowedHosts: ['dlq.example.com'], tokens: PEOPLE })).not.toThrow()
    expect(() => serverWorld({ allowedHosts: ['localhost', '127.0.0.1', 'a.localhost'] })).not.toThrow()
    expect(() => serverWorld({ allowedHosts: [] })).not.toThrow()
  })

  it('F8: a change from another site is refused, whatever it claims', async () => {
    const { ask, bury, make, store } = serverWorld()
    const [letter] = await bury(make.letter())
    const before = await dumpStore(store)
    const post = (headers: Record<string, string>) =>
      ask(`/api/v1/dead-letters/${letter!.id}/discard`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(DISCARD),
      })
    for (const headers of [
      { origin: 'http://evil.com' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:9999' },
      { origin: `${HOME}.evil.com` },
      { origin: `${HOME}/` },
      { origin: 'garbage' },
      { origin: HOME, 'sec-fetch-site': 'cross-site' },
      { origin: HOME, 'sec-fetch-site': 'same-site' },
    ])
      expect((await post(headers)).status, JSON.stringify(headers)).toBe(403)
    const bare = await ask(`/api/v1/dead-letters/${letter!.id}/discard`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: '' },
      body: JSON.stringify(DISCARD),
    })
    expect(bare.status).toBe(403)
    expect(await dumpStore(store)).toEqual(before)
    expect((await post({ origin: HOME, 'sec-fetch-site': 'same-origin' })).status).toBe(200)
  })

  it('F8: a form of another site cannot send JSON, and is refused for that too', async () => {
    const { ask, bury, make } = serverWorld()
    const [letter] = await bury(make.letter())
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''])
      expect(
        (
          await ask(`/api/v1/dead-letters/${letter!.id}/discard`, {
            method: 'POST',
            headers: type === '' ? {} : { 'content-type': type },
            body: JSON.stringify(DISCARD),
          })
        ).status,
        type,
      ).toBe(415)
  })

  it('F8: every answer is armoured, good or bad, and cannot be framed', async () => {
    const { ask, tell } = serverWorld()
    const answers = [
      await ask('/api/v1/me'),
      await ask('/nowhere'),
      await ask('/api/v1/nowhere'),
      await tell('/api/v1/me', {}),
      await ask('/api/v1/me', { headers: { host: 'evil.com' } }),
      await ask('/api/v1/dead-letters?limit=x'),
    ]
    for (const { headers } of answers) {
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
          "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      )
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
      expect(headers.get('cache-control')).toMatch(/no-store|no-cache/)
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  it('F8: methods that a path does not have are named', async () => {
    const { ask, tell } = serverWorld()
    const wrong = await tell('/api/v1/overview', {})
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect((await ask('/api/v1/dead-letters/purge', { method: 'DELETE' })).headers.get('allow')).toContain(
      'POST',
    )
    const head = await ask('/api/v1/overview', { method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, ''])
    expect((await ask('/', { method: 'POST' })).status).toBe(405)
    expect((await ask('/api/v1/me', { method: 'OPTIONS' })).status).toBe(405)
    expect((await tell('/metrics', {})).headers.get('allow')).toBe('GET, HEAD')
  })
})

describe('tokens', () => {
  const as = (name: string) => ({ token: secretOf(name) })

  it('F8: without the right one nobody is let in; probes are', async () => {
    const { ask } = serverWorld({ tokens: PEOPLE })
    const nobody = await ask('/api/v1/overview')
    expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="lazaret"'])
    for (const token of ['wrong', secretOf('ada').toUpperCase(), `${secretOf('ada')}x`, PEOPLE[2]!.sha256])
      expect((await ask('/api/v1/overview', { token })).status, token).toBe(401)
    expect((await ask('/api/v1/overview', { headers: { authorization: 'Basic YTpi' } })).status).toBe(401)
    for (const path of ['/healthz', '/readyz', '/healthz/consumer'])
      expect((await ask(path)).status).toBe(200)
    expect((await ask('/api/v1/overview', as('vic'))).status).toBe(200)
  })

  it('F8: who am I, what may I do, and if not, why', async () => {
    const { ask } = serverWorld({ tokens: PEOPLE })
    expect((await ask('/api/v1/me', as('vic'))).body).toMatchObject({
      name: 'vic',
      role: 'viewer',
      can: {
        'letter.reveal': {
          allowed: false,
          reason: 'This action needs the role operator. Your role is viewer.',
        },
      },
    })
    expect((await ask('/api/v1/me', as('ola'))).body.can).toMatchObject({
      'replay.plan': { allowed: true },
      'letters.purge': { allowed: false },
    })
    expect((await ask('/api/v1/me', as('ada'))).body.can['letters.purge']).toEqual({ allowed: true })
  })

  it('F8: changes are audited by the name of the token, and need no Origin', async () => {
    const { ask, bury, make, audited } = serverWorld({ tokens: PEOPLE })
    const [letter] = await bury(make.letter())
    const { status } = await ask(`/api/v1/dead-letters/${letter!.id}/discard`, {
      method: 'POST',
      ...as('ola'),
      json: DISCARD,
      headers: { 'sec-fetch-site': 'none' },
    })
    expect(status).toBe(200)
    expect(await audited()).toEqual([`ola letter.discard ${letter!.id}`])
  })

  it('F8: each has its own rate limit, and strangers share one', async () => {
    const { ask, clock } = serverWorld({ tokens: PEOPLE, rateLimit: { perSecond: 1, burst: 2 } })
    const status = async (token: string) => (await ask('/api/v1/me', { token })).status
    expect([await status('a'), await status('b'), await status('c')]).toEqual([401, 401, 429])
    const mine = secretOf('ola')
    expect([await status(mine), await status(mine)]).toEqual([200, 200])
    const limited = await ask('/api/v1/me', { token: mine })
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await status(secretOf('ada'))).toBe(200)
    await clock.advance(1_000)
    expect(await status(mine)).toBe(200)
  })

  it('F8: a wrong token takes the same time, however much of it is right', async () => {
    const { ask } = serverWorld({ tokens: PEOPLE, rateLimit: { perSecond: 1_000_000, burst: 1_000_000 } })
    const right = secretOf('ada')
    const tokens = ['x'.repeat(right.length), `${right.slice(0, -1)}x`]
    const times: number[][] = [[], []]
    for (let round = 0; round < 400; round++)
      for (const [index, token] of tokens.entries()) {
        const start = process.hrtime.bigint()
        await ask('/api/v1/me', { token })
        times[index]!.push(Number(process.hrtime.bigint() - start))
      }
    const [none, most] = times.map(each => each.sort((a, b) => a - b)[200]!)
    expect(Math.abs(none! - most!) / none!).toBeLessThan(0.5)
  })

  it('F8: wrong ones in the options are refused without being shown', () => {
    const bad = { name: 'x', role: 'admin', sha256: 'plainly-typed' } as const
    expect(() => serverWorld({ tokens: [bad] })).toThrow('give the SHA-256')
    expect(() => serverWorld({ tokens: [PEOPLE[0]!, PEOPLE[0]!] })).toThrow('a unique name')
    const hash = createHash('sha256').update('x').digest('hex').toUpperCase()
    expect(() => serverWorld({ tokens: [{ ...bad, sha256: hash }] })).not.toThrow()
  })

  it('F8: on an address that others reach, the server does not start without them', async () => {
    const { server } = serverWorld()
    for (const host of ['0.0.0.0', '::', '192.168.1.5', 'dlq.example.com'])
      await expect(server.listen({ host, port: 0 })).rejects.toMatchObject({
        code: 'LAZARET_LISTEN_REFUSED',
        message: expect.stringContaining('needs tokens'),
      })
  })
})

describe('bodies', () => {
  const send = (body: string | ReadableStream<Uint8Array>, headers: Record<string, string> = {}) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })

  it('F8: larger ones than a megabyte are refused, told or not', async () => {
    const { ask } = serverWorld()
    const large = JSON.stringify({ filter: {}, reason: 'x'.repeat(1_000_001) })
    expect((await ask('/api/v1/replays', send(large))).status).toBe(413)
    let sent = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent++
        controller.enqueue(new Uint8Array(64 * 1_024).fill(32))
      },
    })
    expect((await ask('/api/v1/replays', send(endless))).status).toBe(413)
    expect(sent).toBeLessThan(30)
  })

  it('F8: a client that disconnects in the middle of its body is not a fault of the server', async () => {
    const { ask, errors } = serverWorld()
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode('{"reason":'))
        controller.error(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }))
      },
    })
    const headers = { 'content-type': 'application/json' }
    const { status, body: problem } = await ask('/api/v1/replays', { method: 'POST', headers, body })
    expect(status).toBe(400)
    expect(problem.detail).toBe('The request body ended before it was complete. Send it again.')
    expect(errors).toEqual([])
  })

  it('F8: deep ones are refused, and a name of a prototype is a name', async () => {
    const { ask, tell } = serverWorld()
    const deep = `{"filter":${'['.repeat(400_000)}${']'.repeat(400_000)},"reason":"x"}`
    const { status, body } = await ask('/api/v1/replays', send(deep))
    expect([status, body.detail]).toEqual([
      400,
      'The request body is nested more than 64 levels deep. Flatten it.',
    ])
    const polluting =
      '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},"reason":"x"}'
    expect((await ask('/api/v1/replays', send(polluting))).status).toBe(400)
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined()
    expect((await tell('/api/v1/replays', { filter: { toString: 'x' }, reason: 'x' })).status).toBe(400)
  })

  it('P2: hostile payloads come back as JSON text, never as a page', async () => {
    const { ask, bury, make } = serverWorld()
    const hostile = {
      script: '<script>alert(1)</script>',
      svg: '<svg onload=alert(1)>',
      ...(JSON.parse('{"__proto__":{"polluted":true},"constructor":"x"}') as object),
      null: '\u0000\u202e\ud800',
      huge: 'x'.repeat(200_000),
    }
    const error = Object.assign(new Error('<img src=x onerror=alert(1)>'), { name: '<b>' })
    const [letter] = await bury(make.letter({ event: make.event({ payload: hostile, type: '<i>' }), error }))
    for (const path of ['/api/v1/dead-letters', `/api/v1/dead-letters/${letter!.id}`, '/api/v1/groups']) {
      const { status, headers, text } = await ask(path)
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
      expect(JSON.parse(text)).toBeTruthy()
    }
    const { body } = await ask(`/api/v1/dead-letters/${letter!.id}`)
    expect(Object.hasOwn(body.event.payload, '__proto__')).toBe(true)
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})
