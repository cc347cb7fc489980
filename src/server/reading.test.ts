import { describe, expect, it } from 'vitest'
import { serverWorld } from '../../test/support/server-world.ts'

const TYPE_ERROR = new TypeError("cannot read 'id' of undefined")

describe('looking at letters', () => {
  it('F8: are listed newest first, small, and page by page', async () => {
    const { ask, bury, make } = serverWorld()
    const letters = await bury(...Array.from({ length: 5 }, () => make.letter()))
    const first = (await ask('/api/v1/dead-letters?limit=2')).body
    expect(first.letters.map((each: { id: string }) => each.id)).toEqual(
      letters.slice(0, 2).map(({ id }) => id),
    )
    expect(JSON.stringify(first)).not.toContain('payload')
    const second = (await ask(`/api/v1/dead-letters?limit=3&cursor=${first.cursor}`)).body
    expect(second.letters.map((each: { id: string }) => each.id)).toEqual(
      letters.slice(2).map(({ id }) => id),
    )
    expect(second.cursor).toBeUndefined()
  })

  it('F8: the filters are those of the command line', async () => {
    const { ask, bury, make } = serverWorld()
    await bury(make.letter({ channel: 'mails', error: TYPE_ERROR }), make.letter({ reason: 'poison' }))
    const count = async (query: string) => (await ask(`/api/v1/dead-letters?${query}`)).body.letters.length
    expect(await count('channel=mails')).toBe(1)
    expect(await count('state=quarantined&reason=poison')).toBe(1)
    expect(await count('search=CANNOT+READ')).toBe(1)
    expect(await count('after=2026-01-01T00:00:02Z')).toBe(1)
    expect(await count('before=2026-01-01T00:00:02Z')).toBe(1)
    expect((await ask('/api/v1/dead-letters/stats?channel=mails')).body).toMatchObject({
      count: 1,
      byState: { dead: 1 },
      byChannel: { mails: 1 },
    })
  })

  it('F8: a wrong filter is refused, and every fault is told with its remedy', async () => {
    const { ask } = serverWorld()
    const { status, body } = await ask('/api/v1/dead-letters?state=daed&limit=0&chanel=x&after=yesterday')
    expect(status).toBe(400)
    const paths = body.faults.map((each: { path: string }) => each.path)
    expect(paths).toEqual(expect.arrayContaining(['query.state', 'query.limit', 'query', 'query.after']))
    expect(JSON.stringify(body.faults)).toContain('chanel')
    expect(body.faults[0].remedy).toMatch(/^give one of 'dead', 'quarantined', /)
    expect((await ask('/api/v1/dead-letters?cursor=nonsense')).status).toBe(400)
    expect((await ask('/api/v1/dead-letters?state=dead&state=parked')).status).toBe(400)
  })

  it('P2: one letter is told whole, masked: event, attempts, destination, audit', async () => {
    const { ask, tell, bury, make } = serverWorld()
    const headers = {
      authorization: 'Bearer abcdefghijkl',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    }
    const payload = { card: { number: '4111 1111 1111 1111' }, password: 'hunter2', amount: 7 }
    const [letter] = await bury(make.letter({ event: make.event({ payload, headers }) }))
    await tell(`/api/v1/dead-letters/${letter!.id}/discard`, { reason: 'a test order' })
    const { body, text } = await ask(`/api/v1/dead-letters/${letter!.id}`)
    expect(text).not.toMatch(/hunter2|4111|abcdefghijkl/)
    expect(body).toMatchObject({
      event: { payload: { password: '***', amount: 7 }, headers: { authorization: '***' } },
      cycles: [{ number: 0, attempts: [{ number: 1, failure: { code: 'ECONNREFUSED' } }] }],
      destination: { channel: 'orders', handler: 'bill', broker: 'memory', obstacle: 'it is discarded' },
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      audit: [{ by: 'local', action: 'letter.discard', detail: { note: 'a test order' } }],
    })
    expect((await ask('/api/v1/dead-letters/nobody')).status).toBe(404)
  })
})

describe('looking at groups', () => {
  it('F8: those that came back come first, then new ones, then by rate; each with its last 24 hours', async () => {
    const { ask, tell, bury, make, clock } = serverWorld()
    const old = make.letter({ error: new RangeError('old') })
    await bury(old)
    await clock.advance(25 * 3_600_000)
    await bury(make.letter(), make.letter(), make.letter({ error: TYPE_ERROR }))
    const titles = async (sort: string) =>
      (await ask(`/api/v1/groups?sort=${sort}`)).body.groups.map((each: { title: string }) =>
        each.title.slice(0, 9),
      )
    expect(await titles('regressed')).toEqual(['Error: co', 'TypeError', 'RangeErro'])
    const id = old.cycle.failure!.fingerprint.id
    await tell(`/api/v1/groups/${id}`, { state: 'resolved' }, { method: 'PATCH' })
    await bury(make.letter({ error: new RangeError('old') }), make.letter({ error: TYPE_ERROR }))
    await clock.advance(6_000)
    expect(await titles('regressed')).toEqual(['RangeErro', 'TypeError', 'Error: co'])
    expect(await titles('recent')).toEqual(['TypeError', 'RangeErro', 'Error: co'])
    expect(await titles('new')).toEqual(['TypeError', 'Error: co', 'RangeErro'])
    const { body } = await ask('/api/v1/groups?sort=rate&limit=1')
    expect(body.groups[0].sparkline.at(-1)).toBe(2)
    expect(body.groups[0].rate).toBe(2)
    const rest = (await ask(`/api/v1/groups?sort=rate&limit=5&cursor=${body.cursor}`)).body
    expect(rest.groups).toHaveLength(2)
    expect((await ask(`/api/v1/groups?sort=new&cursor=${body.cursor}`)).status).toBe(400)
  })

  it('F8: a group tells what its letters have in common, and why they are one', async () => {
    const { ask, bury, make } = serverWorld()
    const [letter] = await bury(
      make.letter({ release: '1.2' }),
      make.letter({ release: '1.2' }),
      make.letter(),
    )
    const { body } = await ask(`/api/v1/groups/${letter!.cycle.failure!.fingerprint.id}`)
    expect(body).toMatchObject({ rule: 'frame', count: 3, sampled: 3, sampleLetterId: letter!.id })
    expect(body.commonValues).toContainEqual({
      field: 'release',
      values: [{ value: '1.2', share: 2 / 3 }],
    })
    expect((await ask('/api/v1/groups/none')).status).toBe(404)
  })
})

describe('looking at everything', () => {
  it('F8: the overview has the numbers a person on call needs', async () => {
    const { ask, bury, make, clock } = serverWorld({ expireUndecidedAfterMs: 4 * 86_400_000 })
    await bury(make.letter(), make.letter({ reason: 'poison' }))
    await clock.advance(61 * 60_000)
    await bury(make.letter())
    const { body } = await ask('/api/v1/overview')
    expect(body).toMatchObject({
      groups: { open: 1, waiting: 1, new24h: 1, regressed: 0 },
      letters: { waiting: 3, total: 3, oldestAt: '2026-01-01T00:00:01.000Z' },
      inflow: { lastHour: 1, hourBefore: 2 },
      replays: { running: 0 },
      expiring48h: 0,
      stores: [{ name: 'main', url: 'memory:', up: true, letters: 3, sends: true }],
    })
    expect(body.topGroups).toHaveLength(1)
    await clock.advance(3 * 86_400_000)
    expect((await ask('/api/v1/overview')).body.expiring48h).toBe(3)
  })

  it('F8: a list that has not changed costs no bytes', async () => {
    const { ask, bury, make } = serverWorld()
    await bury(make.letter())
    const first = await ask('/api/v1/dead-letters')
    const etag = first.headers.get('etag')!
    const again = await ask('/api/v1/dead-letters', { headers: { 'if-none-match': etag } })
    expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: '' })
    await bury(make.letter())
    const changed = await ask('/api/v1/dead-letters', { headers: { 'if-none-match': etag } })
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(etag)
  })

  it('F8: the audit is told newest first, by target and action, page by page', async () => {
    const { ask, tell, bury, make } = serverWorld()
    const letters = await bury(make.letter(), make.letter(), make.letter())
    for (const { id } of letters) await tell(`/api/v1/dead-letters/${id}/discard`, { reason: 'tidy' })
    const first = (await ask('/api/v1/audit?limit=2')).body
    expect(first.entries.map((each: { target: string }) => each.target)).toEqual([
      letters[2]!.id,
      letters[1]!.id,
    ])
    const second = (await ask(`/api/v1/audit?limit=2&cursor=${first.cursor}`)).body
    expect(second).toMatchObject({ entries: [{ target: letters[0]!.id }] })
    expect(second.cursor).toBeUndefined()
    expect((await ask(`/api/v1/audit?target=${letters[1]!.id}`)).body.entries).toHaveLength(1)
    expect((await ask('/api/v1/audit?action=payload.reveal')).body.entries).toEqual([])
    for (const forged of [{ main: ['99', 0] }, { main: ['x', 0] }, { main: [null, -1] }, [], 7]) {
      const written = Buffer.from(JSON.stringify(forged)).toString('base64url')
      const { status } = await ask(`/api/v1/audit?cursor=${written}`)
      expect([200, 400], JSON.stringify(forged)).toContain(status)
    }
  })
})
