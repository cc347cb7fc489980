import { describe, expect, it } from 'vitest'
import { changed } from '../../test/support/conformance.ts'
import { cancelWhileSending } from '../../test/support/letter-being-sent.ts'
import { dumpStore, serverWorld } from '../../test/support/server-world.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { iso } from './schema/common.ts'

describe('decisions about letters', () => {
  it('F8: discard and reopen say who and why in the audit', async () => {
    const { tell, bury, make, audited, store } = serverWorld()
    const [letter] = await bury(make.letter())
    const path = `/api/v1/dead-letters/${letter!.id}`
    expect((await tell(`${path}/discard`, { reason: 'test order' })).body.state).toBe('discarded')
    expect((await tell(`${path}/reopen`, { reason: 'it was none' })).body.state).toBe('dead')
    expect(await audited()).toEqual([
      `local letter.reopen ${letter!.id}`,
      `local letter.discard ${letter!.id}`,
    ])
    await store.deadLetters.change(letter!.id, { to: 'replaying', at: 0 })
    expect((await tell(`${path}/discard`, { reason: 'now' })).status).toBe(409)
    expect((await tell('/api/v1/dead-letters/nobody/discard', { reason: 'x' })).status).toBe(404)
    expect((await tell(`${path}/discard`, {})).body.faults[0].path).toBe('body.reason')
  })

  it('B18: a letter that a process of the fleet may still be sending is not reopened before that is over', async () => {
    const { tell, bury, make, audited, store, clock } = serverWorld()
    const [letter] = await bury(make.letter())
    await cancelWhileSending(store, letter!, clock)
    const before = await audited()
    const path = `/api/v1/dead-letters/${letter!.id}/reopen`
    const { status, body } = await tell(path, { reason: 'it takes too long' })
    expect({ status, detail: body.detail }).toEqual({
      status: 409,
      detail: `dead letter ${letter!.id} is replaying and cannot be reopened; a process may still be sending its event for replay r: try again in a minute`,
    })
    expect(await audited()).toEqual(before)
    await clock.advance(60_000)
    expect((await tell(path, { reason: 'it takes too long' })).body.state).toBe('dead')
  })

  it('P2: a payload is shown unmasked only after the audit has it', async () => {
    const { tell, bury, make, store } = serverWorld()
    const payload = { password: 'hunter2', __proto__: null, text: '<script>alert(1)</script>' }
    const [letter] = await bury(make.letter({ event: make.event({ payload, headers: { cookie: 'a=b' } }) }))
    const path = `/api/v1/dead-letters/${letter!.id}/reveal`
    const { body } = await tell(path, { reason: 'the customer asks' })
    expect(body).toMatchObject({
      payload: { password: 'hunter2' },
      headers: { cookie: 'a=b' },
      revealedBy: 'local',
    })
    const { entries } = await store.audit.list({ action: 'payload.reveal' })
    expect(entries).toMatchObject([
      { by: 'local', target: letter!.id, detail: { reason: 'the customer asks' } },
    ])
    store.audit.append = () => Promise.reject(new Error('disk full'))
    const refused = await tell(path, { reason: 'again' })
    expect(refused.status).toBe(500)
    expect(refused.text).not.toContain('hunter2')
  })

  it('P2: bytes are revealed as base64', async () => {
    const { tell, ask, bury, make } = serverWorld()
    const [letter] = await bury(make.letter({ event: make.event({ payload: Uint8Array.of(0, 255, 7) }) }))
    const path = `/api/v1/dead-letters/${letter!.id}`
    expect((await ask(path)).body.event.payload).toBe('[3 bytes]')
    expect((await tell(`${path}/reveal`, { reason: 'look' })).body).toMatchObject({ payloadBase64: 'AP8H' })
  })

  const PURGE = '/api/v1/dead-letters/purge'

  it('F8: a purge deletes what its preview counted, and nothing when the numbers differ', async () => {
    const { tell, bury, make, store, audited, clock } = serverWorld()
    await bury(make.letter({ channel: 'mails' }), make.letter({ channel: 'mails' }), make.letter())
    const filter = { channel: 'mails' }
    const { count, byState, until, digest } = (await tell(`${PURGE}/preview`, { filter })).body
    expect({ count, byState, until }).toEqual({
      count: 2,
      byState: { dead: 2 },
      until: new Date(clock.now()).toISOString(),
    })
    expect(await audited()).toEqual([])
    const purge = { filter, expectedCount: 2, until, digest, reason: 'old' }
    const wrong = await tell(PURGE, { ...purge, expectedCount: 3 })
    expect(wrong.status).toBe(409)
    expect(wrong.body.detail).toContain('2 letters match, not 3')
    expect((await store.deadLetters.stats()).count).toBe(3)
    const done = await tell(PURGE, purge)
    expect(done.body).toEqual({ deleted: 2 })
    expect((await store.deadLetters.stats()).byChannel).toEqual({ orders: 1 })
    expect(await audited()).toEqual(['local letters.purge channel mails'])
  })

  it('F8: a purge deletes no other letters than those previewed, even if there are as many', async () => {
    const { tell, bury, make, store, audited } = serverWorld()
    const [first, second] = await bury(make.letter(), make.letter())
    const preview = (await tell(`${PURGE}/preview`, { filter: {} })).body
    const purge = {
      filter: {},
      expectedCount: 2,
      until: preview.until,
      digest: preview.digest,
      reason: 'old',
    }
    const refused = async () => {
      const { status, body } = await tell(PURGE, purge)
      expect(body.detail).toMatch(/have changed since .* Nothing was deleted\. Preview the purge again/)
      return status
    }
    // Another one takes the place of the second: as many letters, and as old.
    await store.deadLetters.delete(second!.id)
    const at = second!.cycle.lastFailedAt
    const other = make.letter({ at, attempts: [make.attempt(1, { startedAt: at, endedAt: at })] })
    await store.deadLetters.send(other)
    expect(await refused()).toBe(409)
    await store.deadLetters.delete(other.id)
    await store.deadLetters.send(second!)
    // The same letter in another state is not the one that was shown.
    await store.deadLetters.change(first!.id, { to: 'discarded', at: 0 })
    expect(await refused()).toBe(409)
    await store.deadLetters.change(first!.id, { to: 'dead', at: 0 })
    expect((await store.deadLetters.stats()).count).toBe(2)
    expect(await audited()).toEqual([])
    expect((await tell(PURGE, purge)).body).toEqual({ deleted: 2 })
  })

  it('F8: a letter that fails after the preview stays, and does not stop the purge', async () => {
    const { tell, bury, make, store, clock } = serverWorld()
    await bury(make.letter())
    const { until, digest } = (await tell(`${PURGE}/preview`, { filter: {} })).body
    await clock.advance(60_000)
    const at = clock.now()
    const [later] = await bury(
      make.letter({ at, attempts: [make.attempt(1, { startedAt: at, endedAt: at })] }),
    )
    const done = await tell(PURGE, { filter: {}, expectedCount: 1, until, digest, reason: 'old' })
    expect(done.body).toEqual({ deleted: 1 })
    expect((await store.deadLetters.list()).letters.map(({ id }) => id)).toEqual([later!.id])
    const [entry] = (await store.audit.list({ action: 'letters.purge' })).entries
    expect(entry!.at).toBe(clock.now())
  })

  it('F8: a purge without a preview is refused with what to do', async () => {
    const { tell, bury, make, store } = serverWorld()
    await bury(make.letter())
    const { status, body } = await tell(PURGE, { filter: {}, expectedCount: 1, reason: 'old' })
    expect(status).toBe(400)
    expect(body.faults.map(({ path }: { path: string }) => path)).toEqual(['body.until', 'body.digest'])
    for (const { remedy } of body.faults)
      expect(remedy).toContain('send POST to the same path with /preview first')
    expect((await store.deadLetters.stats()).count).toBe(1)
  })

  it('F8: a purge deletes no letter that came after it was counted, though it failed long before', async () => {
    const base = serverWorld()
    const { clock, store, make } = base
    await base.bury(make.letter(), make.letter())
    const { until, digest } = (await base.tell(`${PURGE}/preview`, { filter: {} })).body
    const arrived: string[] = []
    const arrive = async () => {
      const at = clock.now() - 3_600_000
      const letter = make.letter({ at, attempts: [make.attempt(1, { startedAt: at, endedAt: at })] })
      arrived.push(letter.id)
      await store.deadLetters.send(letter)
    }
    const late = (name: 'stats' | 'deleteMany') =>
      serverWorld({
        clock,
        stores: {
          ...store,
          deadLetters: changed<DeadLetterStore>(store.deadLetters, whole => ({
            stats: async filter => {
              const stats = await whole.stats(filter)
              if (name === 'stats') await arrive()
              return stats
            },
            deleteMany: async seen => {
              if (name === 'deleteMany') await arrive()
              return whole.deleteMany(seen)
            },
          })),
        },
      })
    const purge = { filter: {}, expectedCount: 2, until, digest, reason: 'old' }
    const counted = await late('stats').tell(PURGE, purge)
    expect(counted.status).toBe(409)
    expect(counted.body.detail).toContain('3 letters match, not 2')
    await store.deadLetters.delete(arrived.pop()!)
    const deleting = await late('deleteMany').tell(PURGE, purge)
    expect([deleting.status, deleting.body]).toEqual([200, { deleted: 2 }])
    const left = (await store.deadLetters.list()).letters.map(({ id }) => id)
    expect(left.sort()).toEqual(arrived.sort())
  })
})

describe('decisions about groups', () => {
  it('F8: state, owner, link and notes are kept and audited; null takes away', async () => {
    const { tell, bury, make, audited } = serverWorld()
    const [letter] = await bury(make.letter())
    const id = letter!.cycle.failure!.fingerprint.id
    const patch = (json: unknown) => tell(`/api/v1/groups/${id}`, json, { method: 'PATCH' })
    const muted = { state: 'muted', mutedUntil: '2026-01-02T00:00:00Z', owner: 'ann', note: 'known' }
    expect((await patch(muted)).body).toMatchObject({
      state: 'muted',
      mutedUntil: '2026-01-02T00:00:00.000Z',
      owner: 'ann',
      notes: [{ by: 'local', text: 'known' }],
    })
    const taken = (await patch({ owner: null, link: 'https://tickets/1' })).body
    expect(taken).toMatchObject({ state: 'muted', link: 'https://tickets/1' })
    expect(taken.owner).toBeUndefined()
    expect(await audited()).toEqual([`local group.edit ${id}`, `local group.mute ${id}`])
    for (const wrong of [
      {},
      { state: 'muted' },
      { mutedUntil: '2026-01-02T00:00:00Z' },
      { link: 'javascript:alert(1)' },
    ])
      expect((await patch(wrong)).status, JSON.stringify(wrong)).toBe(400)
    expect((await tell('/api/v1/groups/none', { state: 'open' }, { method: 'PATCH' })).status).toBe(404)
  })
})

describe('controlling consumers', () => {
  it('F6, R12: a breaker is forced and a consumer paused by name, and health and statistics follow', async () => {
    const world = serverWorld()
    const consumer = createConsumer({
      broker: world.store.broker!,
      channel: 'orders',
      name: 'bill',
      deadLetters: world.store.deadLetters,
      clock: world.clock,
      handle: () => {},
    })
    await consumer.start()
    const { ask, tell, audited } = serverWorld({
      stores: world.store,
      consumers: [consumer],
      clock: world.clock,
    })
    expect((await ask('/healthz/consumer')).body).toMatchObject({
      status: 'UP',
      breakerState: 'CLOSED',
      dlqSize: 0,
    })
    const open = await tell('/api/v1/channels/orders/breaker', {
      handler: 'bill',
      to: 'open',
      reason: 'maintenance',
    })
    expect(open.body.channels[0].consumers).toMatchObject([
      {
        handler: 'bill',
        breaker: 'forced-open',
        breakerStats: { calls: 0, failures: 0, opened: 1, lastChangeAt: iso(world.clock.now()) },
      },
    ])
    const down = await ask('/healthz/consumer')
    expect([down.status, down.body.status]).toEqual([503, 'DOWN'])
    await tell('/api/v1/channels/orders/breaker', { handler: 'bill', to: 'closed', reason: 'over' })
    await tell('/api/v1/channels/orders/pause', { reason: 'a look' })
    expect((await ask('/api/v1/channels')).body.channels[0].consumers[0].paused).toEqual(['manual'])
    expect((await ask('/api/v1/overview')).body.consumers).toEqual({ paused: 1, total: 1 })
    const resumed = await tell('/api/v1/channels/orders/resume', { handler: 'bill', reason: 'seen' })
    expect(resumed.body.channels[0].consumers[0].paused).toEqual([])
    expect((await tell('/api/v1/channels/mails/pause', { reason: 'x' })).status).toBe(404)
    expect((await world.audited()).toReversed()).toEqual([
      'local breaker.force orders',
      'local breaker.force orders',
      'local consumer.pause orders',
      'local consumer.resume orders',
    ])
    expect(await audited()).toEqual([])
  })

  it('E16: a breaker that is off cannot be forced, and nobody is told that it was', async () => {
    const world = serverWorld()
    const consumer = createConsumer({
      broker: world.store.broker!,
      channel: 'orders',
      name: 'bill',
      deadLetters: world.store.deadLetters,
      clock: world.clock,
      breaker: 'off',
      handle: () => {},
    })
    const { tell } = serverWorld({ stores: world.store, consumers: [consumer], clock: world.clock })
    const body = { handler: 'bill', to: 'open', reason: 'maintenance' }
    const { status, body: problem } = await tell('/api/v1/channels/orders/breaker', body)
    expect([status, problem.detail]).toEqual([
      409,
      'The breaker of bill is off. Pause channel orders instead.',
    ])
    expect(await world.audited()).toEqual([])
  })

  it('F6: too many letters degrade health', async () => {
    const { ask, bury, make } = serverWorld({ degradedAt: 1 })
    await bury(make.letter(), make.letter())
    const { status, body } = await ask('/healthz/consumer')
    expect([status, body.status, body.dlqSize]).toEqual([503, 'DEGRADED', 2])
  })
})

describe('the demo', () => {
  it('F8: its buttons are there only where it is', async () => {
    const plain = serverWorld()
    expect((await plain.ask('/api/v1/demo')).status).toBe(404)
    expect((await plain.tell('/api/v1/demo/deploy', {})).status).toBe(404)
    const pressed: string[] = []
    const state = () => ({ title: 'shop', steps: [] })
    const act = async (action: string, by: string) => {
      pressed.push(`${by} ${action}`)
      return state()
    }
    const { ask, tell, audited } = serverWorld({ extensions: { demo: { state, act } } })
    expect((await ask('/api/v1/demo')).body.title).toBe('shop')
    expect((await ask('/api/v1/me')).body.demo).toBe(true)
    expect((await tell('/api/v1/demo/deploy', {})).status).toBe(200)
    expect(pressed).toEqual(['local deploy'])
    expect(await audited()).toEqual(['local demo.act deploy'])
  })
})

it('F8: a change that fails changes nothing', async () => {
  const { tell, bury, make, store } = serverWorld()
  const [letter] = await bury(make.letter())
  const before = await dumpStore(store)
  for (const body of ['{', '', '[]', 'null', '{"reason":5}', '{"reason":"  "}', '{"reason":"x","more":1}'])
    expect(
      (
        await tell(`/api/v1/dead-letters/${letter!.id}/discard`, undefined, {
          headers: { 'content-type': 'application/json' },
          body,
        })
      ).status,
      body,
    ).toBe(400)
  expect(await dumpStore(store)).toEqual(before)
})
