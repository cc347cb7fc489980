import { describe, expect, it } from 'vitest'
import { PEOPLE, secretOf, serverWorld, tokenOf } from '../../test/support/server-world.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'

const PLAN = { filter: { channel: 'orders' }, reason: "it's mended" }

/** A world with a consumer that handles what it is sent, unless told to fail. */
async function shop(options: Parameters<typeof serverWorld>[0] = {}) {
  const base = serverWorld()
  const shop = { isBroken: false, handled: 0 }
  const consumer = createConsumer({
    broker: base.store.broker!,
    channel: 'orders',
    name: 'bill',
    deadLetters: base.store.deadLetters,
    retry: { attempts: 1 },
    breaker: 'off',
    clock: base.clock,
    handle: () => {
      if (shop.isBroken) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
      shop.handled++
    },
  })
  await consumer.start()
  const world = serverWorld({ stores: base.store, consumers: [consumer], clock: base.clock, ...options })
  return { ...world, store: base.store, clock: base.clock, bury: base.bury, make: base.make, shop, consumer }
}

describe('a replay over HTTP', () => {
  it('B10, B12: is planned, started and run to its outcomes by the server', async () => {
    const { bury, make, tell, ask, clock, shop: room, server } = await shop()
    await bury(...Array.from({ length: 12 }, () => make.letter()))
    const plan = await tell('/api/v1/replays', PLAN)
    expect(plan.status).toBe(201)
    expect(plan.body).toMatchObject({
      state: 'approved',
      count: 12,
      findings: { replay: 12 },
      counts: { waiting: 12 },
      arrivedSincePlan: 0,
      can: { start: { allowed: true }, pause: { allowed: false } },
    })
    expect(plan.body.command).toBe(
      `lazaret replay plan --channel orders --reason 'it'\\''s mended' --stages 1,10,100,rest --per-second 50 --halt-refail-ratio 0.2 --max-age 1d --store memory:`,
    )
    const path = `/api/v1/replays/${plan.body.id}`
    expect(room.handled).toBe(0)
    expect((await tell(`${path}/start`, {})).body.state).toBe('running')
    expect((await ask('/api/v1/overview')).body.runningReplays).toHaveLength(1)
    await clock.advance(3_000)
    expect((await ask(path)).body).toMatchObject({
      state: 'finished',
      counts: { recovered: 12, waiting: 0 },
      recoveredShare: 1,
    })
    expect(room.handled).toBe(12)
    const items = (await ask(`${path}/items?limit=5`)).body
    expect(items.items).toHaveLength(5)
    expect(
      (await ask(`${path}/items?limit=50&after=${items.after}&status=recovered`)).body.items,
    ).toHaveLength(7)
    expect((await ask('/api/v1/replays?state=finished')).body.replays).toHaveLength(1)
    await server.close()
  })

  it('B11: halts automatically when the cause is not fixed, and continues when resumed', async () => {
    const { bury, make, tell, ask, clock, shop: room, server } = await shop()
    await bury(...Array.from({ length: 5 }, () => make.letter()))
    room.isBroken = true
    const { id } = (await tell('/api/v1/replays', { ...PLAN, haltRefailRatio: 0.4 })).body
    await tell(`/api/v1/replays/${id}/start`, {})
    await clock.advance(3_000)
    const halted = (await ask(`/api/v1/replays/${id}`)).body
    expect(halted).toMatchObject({
      state: 'halted',
      can: { resume: { allowed: true }, start: { allowed: false } },
    })
    expect(halted.counts.failed_same_cause + halted.counts.failed_new_cause).toBe(1)
    expect((await tell(`/api/v1/replays/${id}/cancel`, { reason: 'not yet' })).body).toMatchObject({
      state: 'cancelled',
      stateReason: 'not yet',
    })
    expect((await tell(`/api/v1/replays/${id}/start`, {})).status).toBe(409)
    await server.close()
  })

  it('B11: a halted replay says how many of its letters another replay has recovered', async () => {
    const { bury, make, tell, ask, clock, shop: room, server } = await shop()
    await bury(...Array.from({ length: 5 }, () => make.letter()))
    room.isBroken = true
    const { id } = (await tell('/api/v1/replays', PLAN)).body
    await tell(`/api/v1/replays/${id}/start`, {})
    await clock.advance(3_000)
    const halted = (await ask(`/api/v1/replays/${id}`)).body
    expect(halted.state).toBe('halted')
    expect(halted).not.toHaveProperty('recoveredSince')
    room.isBroken = false
    const other = (await tell('/api/v1/replays', PLAN)).body
    await tell(`/api/v1/replays/${other.id}/start`, {})
    await clock.advance(3_000)
    expect((await ask(`/api/v1/replays/${id}`)).body.recoveredSince).toEqual({ letters: 5, of: 5 })
    expect((await ask(`/api/v1/replays/${other.id}`)).body).not.toHaveProperty('recoveredSince')
    expect((await ask('/api/v1/overview')).body.groups).toMatchObject({ open: 2, waiting: 0 })
    await server.close()
  })

  it('B11: a server that comes up goes on with what another left running', async () => {
    const { bury, make, tell, ask, clock, server, store, shop: room } = await shop()
    await bury(...Array.from({ length: 8 }, () => make.letter()))
    const { id } = (await tell('/api/v1/replays', { ...PLAN, perSecond: 1 })).body
    await tell(`/api/v1/replays/${id}/start`, {})
    await clock.advance(1_500)
    await server.close()
    const sent = room.handled
    expect(sent).toBeGreaterThan(0)
    expect(sent).toBeLessThan(8)
    await clock.advance(20_000)
    expect(room.handled).toBe(sent)
    const next = serverWorld({ stores: store, clock })
    await next.ask('/healthz')
    await clock.advance(20_000)
    expect((await next.ask(`/api/v1/replays/${id}`)).body.state).toBe('finished')
    expect(room.handled).toBe(8)
    await next.server.close()
    expect((await ask('/healthz')).status).toBe(200)
  })

  it('K8: a breaker that is open keeps letters back, and the findings say so', async () => {
    const base = await shop()
    const { bury, make, tell, ask, consumer } = base
    await bury(make.letter())
    consumer.pause()
    expect(await tell('/api/v1/replays', PLAN)).toMatchObject({
      status: 422,
      body: {
        detail:
          'The letter cannot be sent; nothing was planned: 1 with a consumer that is paused or has an open breaker. 1 × the consumer bill is paused manually.',
      },
    })
    await bury(make.letter({ channel: 'mails', event: make.event({ channel: 'mails' }) }))
    const { body } = await tell('/api/v1/replays', { ...PLAN, filter: {} })
    expect(body.findings).toEqual({ skip_downstream: 1, replay: 1 })
    const { findings } = (await ask(`/api/v1/replays/${body.id}/findings`)).body
    expect(findings).toContainEqual(
      expect.objectContaining({
        decision: 'skip_downstream',
        count: 1,
        reasons: [{ reason: 'the consumer bill is paused manually', count: 1 }],
      }),
    )
  })

  it('B10: a plan of nothing, of missing letters, or with filter and ids together is refused', async () => {
    const { tell, bury, make, store } = await shop()
    const [letter] = await bury(make.letter())
    const status = async (json: unknown) => (await tell('/api/v1/replays', json)).status
    expect(await status({ ...PLAN, filter: { channel: 'nowhere' } })).toBe(422)
    expect(await status({ ...PLAN, filter: { state: 'resolved' } })).toBe(422)
    expect(await status({ ids: ['nobody'], reason: 'x' })).toBe(404)
    expect(await status({ ids: [letter!.id, 'nobody'], reason: 'x' })).toBe(422)
    expect(await status({ ...PLAN, ids: [letter!.id] })).toBe(400)
    expect(await status({ reason: 'x' })).toBe(400)
    expect(await status({ filter: {} })).toBe(400)
    expect(await store.replays.list()).toEqual([])
    expect(await status({ ids: [letter!.id], reason: 'x' })).toBe(201)
  })

  it('B13: an edit is shown before and after, masked, with what is wrong with it', async () => {
    const { tell, bury, make } = await shop()
    const payload = { amount: '7', password: 'hunter2' }
    await bury(make.letter({ event: make.event({ payload }) }))
    const look = async (patch: unknown) =>
      (await tell('/api/v1/replays/preview', { filter: {}, patch })).body.samples[0]
    expect(await look([{ op: 'replace', path: '/amount', value: 7 }])).toMatchObject({
      before: { amount: '7', password: '***' },
      after: { amount: 7, password: '***' },
    })
    const wrong = await look([{ op: 'remove', path: '/nothing' }])
    expect(wrong.fault).toContain('patch operation 1')
    expect(wrong.after).toBeUndefined()
  })

  it('B18: letters that nothing here can send are skipped with the reason, and stay dead', async () => {
    const { tell, ask, bury, make } = serverWorld()
    const [ofRabbit, ofSink] = await bury(
      make.letter({ handler: 'loki', origin: {} }),
      make.letter({ origin: { broker: 'rabbitmq', queue: 'orders' } }),
    )
    const refused = await tell('/api/v1/replays', { filter: {}, reason: 'mended' })
    expect(refused.status).toBe(422)
    expect(refused.body.detail).toContain(
      'None of the 2 letters can be sent; nothing was planned: 2 without a replay target here. 1 × it ',
    )
    await bury(make.letter())
    const { body } = await tell('/api/v1/replays', { filter: {}, reason: 'mended' })
    expect(body.findings).toEqual({ skip_unreachable: 2, replay: 1 })
    const { findings } = (await ask(`/api/v1/replays/${body.id}/findings`)).body
    expect(findings).toContainEqual(
      expect.objectContaining({
        decision: 'skip_unreachable',
        count: 2,
        reasons: expect.arrayContaining([
          { count: 1, reason: expect.stringContaining("it came from broker 'rabbitmq'") },
          { count: 1, reason: expect.stringContaining('it did not come from a broker') },
        ]),
      }),
    )
    for (const letter of [ofRabbit, ofSink])
      expect((await ask(`/api/v1/dead-letters/${letter!.id}`)).body).toMatchObject({
        state: 'dead',
        destination: { obstacle: expect.stringMatching(/it (came|did not come) from/) },
      })
  })

  it('B13: an edited payload goes out and the letter keeps the original', async () => {
    const { tell, ask, bury, make, clock, store, server } = await shop()
    const [letter] = await bury(make.letter())
    const patch = [{ op: 'add', path: '/fixed', value: { __proto__: 'x', deep: [1] } }]
    const plan = (await tell('/api/v1/replays', { ids: [letter!.id], reason: 'mended', patch })).body
    expect(plan.command).toContain('--patch <(printf %s ')
    await tell(`/api/v1/replays/${plan.id}/start`, {})
    await clock.advance(1_000)
    expect((await ask(`/api/v1/dead-letters/${letter!.id}`)).body.state).toBe('resolved')
    expect((await store.deadLetters.get(letter!.id))!.event.payload).toEqual({ amount: 42 })
    await server.close()
  })
})

describe('a second person', () => {
  it('B10: approves what someone else planned, and only then can it be started', async () => {
    const tokens = [...PEOPLE, tokenOf('oto', 'operator')]
    const { tell, bury, make, server } = await shop({ tokens, needsApproval: true })
    await bury(make.letter())
    const as = (name: string) => ({ token: secretOf(name) })
    const { body } = await tell('/api/v1/replays', { ...PLAN, needsApproval: false }, as('ola'))
    expect(body).toMatchObject({
      state: 'planned',
      needsApproval: true,
      can: { approve: { allowed: false } },
    })
    const path = `/api/v1/replays/${body.id}`
    expect((await tell(`${path}/start`, {}, as('ola'))).status).toBe(409)
    const own = await tell(`${path}/approve`, {}, as('ola'))
    expect([own.status, own.body.detail]).toEqual([
      409,
      'You planned this replay. Another person must approve it.',
    ])
    expect((await tell(`${path}/approve`, {}, as('vic'))).status).toBe(403)
    expect((await tell(`${path}/approve`, { reason: 'looks right' }, as('oto'))).body.approvedBy).toBe('oto')
    expect((await tell(`${path}/start`, {}, as('ola'))).status).toBe(200)
    await server.close()
  })

  it('B10: cannot be required where there is none', () => {
    expect(() => serverWorld({ needsApproval: true })).toThrow('give at least two tokens')
  })

  it('B10: a replay that was planned elsewhere without approval is not started here', async () => {
    const plain = await shop()
    await plain.bury(plain.make.letter())
    const { id } = (await plain.tell('/api/v1/replays', PLAN)).body
    const { tell } = serverWorld({
      stores: plain.store,
      clock: plain.clock,
      tokens: PEOPLE,
      needsApproval: true,
    })
    const { status, body } = await tell(`/api/v1/replays/${id}/start`, {}, { token: secretOf('ola') })
    expect(status).toBe(409)
    expect(body.detail).toContain('was planned without approval and can no longer be approved')
  })
})
