import { describe, expect, it } from 'vitest'
import { createWorldAfterOutage } from '../../test/support/outage.ts'
import { letterId } from '../core/dead-letter/identity.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { approveReplay, cancelReplay, pauseReplay, resumeReplay } from './control.ts'
import { planReplay } from './plan.ts'
import { runReplay } from './runner.ts'

describe('a replay is planned', () => {
  it('B10: the selection is frozen, counted and hashed, and nothing is sent', async () => {
    const it = await createWorldAfterOutage(5)
    const replay = await it.plan()
    expect(replay).toMatchObject({ state: 'approved', count: 5, findings: { replay: 5 }, createdBy: 'ann' })
    expect((await it.plan()).hash).toBe(replay.hash)
    expect((await it.plan({ ids: [(await it.store.deadLetters.list()).letters[0]!.id] })).hash).not.toBe(
      replay.hash,
    )
    expect(it.handled).toEqual([])
    expect((await it.store.audit.list({ target: replay.id })).entries).toMatchObject([
      { action: 'replay.plan', by: 'ann' },
    ])
  })

  it('K8: each letter gets its decision with the reason', async () => {
    const it = await createWorldAfterOutage(4)
    const { letters } = await it.store.deadLetters.list()
    await it.store.deadLetters.change(letters[0]!.id, { to: 'quarantined', at: it.clock.now() })
    await it.store.deadLetters.change(letters[1]!.id, { to: 'parked', at: it.clock.now() })
    const replay = await it.plan()
    expect(replay.findings).toEqual({ replay: 2, skip_unapproved: 1, skip_state: 1 })
    await it.clock.advance(25 * 3_600_000)
    const findings = { skip_expired: 2, skip_unapproved: 1, skip_state: 1 }
    await expect(it.plan()).rejects.toMatchObject({ findings })
    expect((await it.plan({ maxAgeMs: 48 * 3_600_000, allowQuarantined: true })).findings).toMatchObject({
      replay: 3,
    })
  })

  it('K8: an event that does not fit the schema, or whose consumer is unhealthy, is not sent', async () => {
    const it = await createWorldAfterOutage(2)
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof (value as { total: unknown }).total === 'number'
            ? { value }
            : { issues: [{ message: 'total: not a number' }] },
      },
    }
    const strict = { ...it.environment, schemaOf: () => schema }
    const request = { reason: 'r', by: 'ann' }
    await expect(planReplay(it.store, request, strict)).rejects.toMatchObject({
      findings: { skip_schema: 2 },
    })
    const patch = [{ op: 'replace' as const, path: '/total', value: 10 }]
    expect((await planReplay(it.store, { ...request, patch }, strict)).findings).toEqual({ replay: 2 })
    const sick = { ...it.environment, downstreamFault: () => 'its breaker is open' }
    await expect(planReplay(it.store, request, sick)).rejects.toMatchObject({
      findings: { skip_downstream: 2 },
    })
  })

  it('B10: a reason is required, and a second person can be', async () => {
    const it = await createWorldAfterOutage(1)
    await expect(it.plan({ reason: '' })).rejects.toMatchObject({ code: 'LAZARET_OPTIONS_INVALID' })
    const replay = await it.plan({ needsApproval: true })
    await expect(it.start(replay)).rejects.toThrow(
      'is planned and cannot be started; only approved replays can',
    )
    const ann = { by: 'ann', clock: it.clock }
    await expect(approveReplay(it.store, replay.id, ann)).rejects.toThrow('another person must approve it')
    await approveReplay(it.store, replay.id, { ...ann, by: 'bob' })
    await expect(it.start(replay)).resolves.toMatchObject({ state: 'running', approvedBy: 'bob' })
  })
})

describe('a replay runs', () => {
  it('B12: recovers what the handler can handle now, and says so', async () => {
    const it = await createWorldAfterOutage(120)
    it.world.broken = () => false
    const replay = await it.plan()
    await it.start(replay)
    expect(await it.run(replay)).toMatchObject({ state: 'finished' })
    expect(await it.store.replays.counts(replay.id)).toMatchObject({ recovered: 120, sent: 0, waiting: 0 })
    expect(it.handled.sort()).toEqual(it.events.map(event => event.id).sort())
    expect((await it.store.deadLetters.stats()).byState).toEqual({ resolved: 120 })
  })

  it('B11: a handler that is still broken halts it in its first stage: 1 letter was sent, not 120', async () => {
    const it = await createWorldAfterOutage(120)
    const replay = await it.plan()
    await it.start(replay)
    expect(await it.run(replay)).toMatchObject({
      state: 'halted',
      stage: 0,
      stateReason: expect.stringContaining('not fixed'),
    })
    expect(await it.store.replays.counts(replay.id)).toMatchObject({ failed_same_cause: 1, waiting: 119 })
    expect((await it.store.deadLetters.stats()).byState).toEqual({ dead: 120 })
  })

  it('B11: resumed after the fix it continues, and halts again if the cause is still there', async () => {
    const it = await createWorldAfterOutage(120)
    const replay = await it.plan()
    await it.start(replay)
    const ann = { by: 'ann', clock: it.clock }
    expect(await it.run(replay)).toMatchObject({ state: 'halted', stage: 0 })
    await resumeReplay(it.store, replay.id, ann)
    expect(await it.run(replay)).toMatchObject({ state: 'halted', stage: 1 })
    it.world.broken = () => false
    await resumeReplay(it.store, replay.id, ann)
    expect(await it.run(replay)).toMatchObject({ state: 'finished' })
    const counts = await it.store.replays.counts(replay.id)
    expect(counts.recovered + counts.failed_same_cause).toBe(120)
    expect(counts.failed_same_cause).toBeLessThanOrEqual(11)
  })

  it('B11: halts when more than the allowed share fails again, and can be resumed', async () => {
    const it = await createWorldAfterOutage(60)
    const replay = await it.plan({ stages: [1, 10, 'rest'], haltRefailRatio: 0.3 })
    const late = new Set((await it.store.replays.items(replay.id, { after: 5 })).map(item => item.letterId))
    it.world.broken = id => late.has(letterId('orders', 'orders', { id }))
    await it.start(replay)
    expect(await it.run(replay)).toMatchObject({ state: 'halted', stage: 1 })
    const counts = await it.store.replays.counts(replay.id)
    expect(counts.waiting).toBe(49)
    it.world.broken = () => false
    const ann = { by: 'ann', clock: it.clock }
    const changed = await it.plan({ haltRefailRatio: 1 })
    await cancelReplay(it.store, replay.id, ann)
    await it.start(changed)
    expect(await it.run(changed)).toMatchObject({ state: 'finished' })
    expect((await it.store.deadLetters.stats()).byState).toEqual({ resolved: 60 })
  })

  it('B11: keeps to its rate', async () => {
    const it = await createWorldAfterOutage(30)
    it.world.broken = () => false
    const replay = await it.plan({ stages: ['rest'], perSecond: 10 })
    await it.start(replay)
    const from = it.clock.now()
    await it.run(replay)
    expect(it.clock.now() - from).toBeGreaterThanOrEqual(2_900)
    expect(it.clock.now() - from).toBeLessThanOrEqual(4_000)
  })

  it('B11: pause, resume and cancel take hold between two letters', async () => {
    const it = await createWorldAfterOutage(50)
    it.world.broken = () => false
    const replay = await it.plan({ stages: ['rest'], perSecond: 10 })
    await it.start(replay)
    const ann = { by: 'ann', clock: it.clock }
    it.clock.schedule(1_000, () => void pauseReplay(it.store, replay.id, { ...ann, reason: 'lunch' }))
    expect(await it.run(replay)).toMatchObject({ state: 'paused', stateReason: 'lunch', by: 'ann' })
    await resumeReplay(it.store, replay.id, ann)
    it.clock.schedule(100, () => void cancelReplay(it.store, replay.id, ann))
    expect(await it.run(replay)).toMatchObject({ state: 'cancelled' })
    await expect(resumeReplay(it.store, replay.id, ann)).rejects.toMatchObject({
      code: 'LAZARET_REPLAY_REFUSED',
    })
    expect((await it.store.replays.counts(replay.id)).waiting).toBeGreaterThan(0)
  })

  it('B11: a runner that dies is followed by another: the outcomes add up and nothing is handled twice', async () => {
    const it = await createWorldAfterOutage(100, { ledger: undefined })
    it.world.broken = () => false
    const replay = await it.plan({ stages: ['rest'], perSecond: 1_000 })
    await it.start(replay)
    let sends = 0
    const dying = {
      send: async (...letters: Parameters<typeof it.target.send>) => {
        if (++sends === 40) throw new Error('killed')
        await it.target.send(...letters)
      },
    }
    const first = runReplay(it.store, replay.id, {
      target: dying,
      environment: it.environment,
      owner: 'first',
    }).catch(String)
    for (let ms = 0; ms < 2_000; ms += 100) await it.clock.advance(100)
    expect(await first).toContain('killed')
    expect(await it.run(replay)).toMatchObject({ state: 'finished' })
    expect(await it.store.replays.counts(replay.id)).toMatchObject({ recovered: 100 })
    expect(it.handled).toHaveLength(100)
  })

  it('K8: one runner has a replay at a time', async () => {
    const it = await createWorldAfterOutage(5)
    const replay = await it.plan()
    await it.start(replay)
    await it.store.replays.lease(replay.id, 'someone else', 30_000)
    await expect(
      runReplay(it.store, replay.id, { target: it.target, environment: it.environment, owner: 'me' }),
    ).rejects.toThrow('another process')
  })

  it('K8: after three replays a letter is parked', async () => {
    const it = await createWorldAfterOutage(1)
    for (let round = 0; round < 3; round++) {
      const replay = await it.plan()
      await it.start(replay)
      await it.run(replay)
    }
    const [letter] = (await it.store.deadLetters.list()).letters
    expect(letter).toMatchObject({ state: 'parked', replays: 3, cycle: { number: 3 } })
    expect(letter?.endedCycles.map(({ number }) => number)).toEqual([0, 1, 2])
    await expect(it.plan()).rejects.toMatchObject({ findings: { skip_state: 1 } })
  })

  it('E17: only the handler that failed gets the replay, whatever else listens to the channel', async () => {
    const it = await createWorldAfterOutage(3)
    const seen: string[] = []
    const other = createConsumer({
      broker: it.store.broker!,
      channel: 'orders',
      name: 'statistics',
      deadLetters: it.store.deadLetters,
      clock: it.clock,
      handle: event => void seen.push(event.id),
    })
    await other.start()
    it.world.broken = () => false
    const replay = await it.plan()
    await it.start(replay)
    expect(await it.run(replay)).toMatchObject({ state: 'finished' })
    expect(it.handled).toHaveLength(3)
    expect(seen).toEqual([])
  })

  it('B13: an edited payload is sent, the letter keeps the original; a redirect goes to another channel', async () => {
    const it = await createWorldAfterOutage(1)
    const seen: unknown[] = []
    const other = createConsumer({
      broker: it.store.broker!,
      channel: 'orders-v2',
      deadLetters: it.store.deadLetters,
      clock: it.clock,
      handle: event => void seen.push(event.payload),
    })
    await other.start()
    const replay = await it.plan({ to: 'orders-v2', patch: [{ op: 'replace', path: '/total', value: 10 }] })
    await it.start(replay)
    expect(await it.run(replay)).toMatchObject({ state: 'finished' })
    expect(seen).toEqual([{ n: 0, total: 10 }])
    expect((await it.store.deadLetters.list()).letters).toMatchObject([
      { state: 'resolved', event: { payload: { n: 0, total: 'ten' } } },
    ])
  })

  it('B12: a redirected event that fails comes back to its letter as a new cause', async () => {
    const it = await createWorldAfterOutage(1)
    const other = createConsumer({
      broker: it.store.broker!,
      channel: 'orders-v2',
      deadLetters: it.store.deadLetters,
      clock: it.clock,
      retry: { attempts: 1 },
      handle: async () => {
        throw new TypeError('v2 does not know this')
      },
    })
    await other.start()
    const replay = await it.plan({ to: 'orders-v2', haltOnSameFingerprint: false, haltRefailRatio: 1 })
    await it.start(replay)
    expect(await it.run(replay)).toMatchObject({ state: 'finished' })
    expect(await it.store.replays.counts(replay.id)).toMatchObject({ failed_new_cause: 1 })
  })
})

it('K8: a round sends at most 50 letters before it looks at commands and outcomes again', async () => {
  const it = await createWorldAfterOutage(120)
  it.world.broken = () => false
  const { replays } = it.store
  const rounds: number[] = []
  const items = replays.items.bind(replays)
  replays.items = async (id, query) => {
    const found = await items(id, query)
    if (query?.status === 'waiting') rounds.push(found.length)
    return found
  }
  const replay = await it.plan({ stages: ['rest'], perSecond: 100_000 })
  await it.start(replay)
  expect(await it.run(replay)).toMatchObject({ state: 'finished' })
  expect(it.handled).toHaveLength(120)
  expect(rounds).toEqual([50, 50, 20])
})

it('K8, R4: a letter is parked after 3 failed replays, or as many as the consumer says for the channel', async () => {
  const replayed = async (more: Parameters<typeof createWorldAfterOutage>[1]) => {
    const it = await createWorldAfterOutage(1, more)
    for (let replays = 0; ; replays++) {
      const [letter] = (await it.store.deadLetters.list()).letters
      if (letter!.state === 'parked') return replays
      const replay = await it.plan({ haltOnSameFingerprint: false, haltRefailRatio: 1 })
      await it.start(replay)
      await it.run(replay)
    }
  }
  expect(await replayed({})).toBe(3)
  expect(await replayed({ replayLimit: 1 })).toBe(1)
  expect(await replayed({ replayLimit: { default: 1, byChannel: { orders: 5 } } })).toBe(5)
  expect(await replayed({ replayLimit: { byChannel: { mails: 5 } } })).toBe(3)
})

it('R2: a letter is not replayed after its own expiry', async () => {
  const it = await createWorldAfterOutage(1, { expiresAfterMs: 3_600_000 })
  expect((await it.plan()).findings).toEqual({ replay: 1 })
  await it.clock.advance(3_600_000)
  await expect(it.plan()).rejects.toMatchObject({ findings: { skip_expired: 1 } })
})
