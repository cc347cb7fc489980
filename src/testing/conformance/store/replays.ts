import assert from 'node:assert/strict'
import type { Replay, ReplayItem } from '../../../ports/replays.ts'
import { inDurableStoreWorld, inStoreWorld, onStore, type StoreConformance } from './suite.ts'

const LONG_MS = 3_600_000

/** A planned replay that has not started. */
export function replayOf(id: string, change: Partial<Replay> = {}): Replay {
  return {
    v: 1,
    id,
    state: 'planned',
    reason: 'the cause is fixed',
    createdAt: 1_700_000_000_000,
    createdBy: 'ada',
    selectedBy: { filter: { channel: 'orders' } },
    count: 1_200,
    hash: 'abc',
    findings: { replay: 1_200 },
    stages: [1, 'rest'],
    perSecond: 10,
    halt: { refailRatio: 0.5, onSameFingerprint: true },
    maxAgeMs: 1_000,
    allowQuarantined: false,
    needsApproval: false,
    stage: 0,
    revision: 0,
    ...change,
  }
}

export function itemsOf(count: number): ReplayItem[] {
  return Array.from({ length: count }, (_, position) => ({
    position,
    letterId: `letter-${position}`,
    decision: 'replay',
    status: 'waiting',
  }))
}

/** Items whose reasons quote these values, as the reasons of schema libraries do. */
function withReasons(...reasons: readonly string[]): ReplayItem[] {
  return itemsOf(reasons.length).map((item, at) => ({ ...item, reason: reasons[at] }))
}

/** What the port of replays promises. */
export function replayTests(suite: StoreConformance): void {
  const it = onStore(suite)
  const itDurable = inDurableStoreWorld(suite)

  it('K8: a replay is created with all its items or not at all', async ({ replays }) => {
    // A plan of a million letters makes each item when it is read, and so only once.
    await replays.create(replayOf('one'), itemsOf(1_200).values())
    assert.deepEqual(await replays.get('one'), replayOf('one'))
    assert.deepEqual(await replays.items('one'), itemsOf(1_200))
    await assert.rejects(replays.create(replayOf('one'), itemsOf(1)), { code: 'LAZARET_REPLAY_REFUSED' })
    assert.equal((await replays.counts('one')).waiting, 1_200)
    assert.equal(await replays.get('two'), undefined)
    assert.deepEqual(await replays.items('two'), [])
  })

  it('B10: a replay that is cancelled while it is created is there with all its items, or nothing of it is', async ({
    replays,
  }) => {
    const stop = new AbortController()
    // The items are read in portions, so the abort comes between two of them.
    const items = itemsOf(3_000)
    Object.defineProperty(items, 1_500, {
      get() {
        stop.abort()
        return itemsOf(1_501)[1_500]
      },
    })
    const error = await replays.create(replayOf('one'), items, stop.signal).catch((thrown: unknown) => thrown)
    const isStored = error === undefined
    if (!isStored) assert.equal((error as { code?: unknown }).code, 'LAZARET_PLAN_CANCELLED')
    assert.equal((await replays.get('one')) !== undefined, isStored)
    assert.equal((await replays.items('one')).length, isStored ? 3_000 : 0)
    if (isStored) return
    await replays.create(replayOf('one'), itemsOf(2))
    assert.deepEqual(await replays.items('one'), itemsOf(2))
  })

  it('K8: nothing is left of a replay whose items cannot be read', async ({ replays }) => {
    function* broken() {
      yield* itemsOf(2_500)
      throw new Error('a letter cannot be read')
    }
    await assert.rejects(replays.create(replayOf('one'), broken()), /a letter cannot be read/)
    assert.equal(await replays.get('one'), undefined)
    assert.deepEqual(await replays.items('one'), [])
    await replays.create(replayOf('one'), itemsOf(2))
    assert.deepEqual(await replays.items('one'), itemsOf(2))
  })

  it('K8: items are selected by status and position, and recorded together', async ({ replays }) => {
    await replays.create(replayOf('one'), itemsOf(5))
    const [, second, , fourth] = itemsOf(5)
    const sent = [second!, fourth!].map(item => ({ ...item, status: 'sent', cycle: 1, sentAt: 7 }) as const)
    await replays.record('one', sent)
    assert.deepEqual(await replays.items('one', { status: 'sent' }), sent)
    assert.deepEqual(await replays.items('one', { status: 'sent', after: 1 }), [sent[1]])
    assert.deepEqual(await replays.items('one', { limit: 1, after: 2 }), [sent[1]])
    for (const beyond of [2 ** 31, Number.MAX_SAFE_INTEGER])
      assert.deepEqual(await replays.items('one', { after: beyond }), [])
    const { waiting, sent: under, recovered } = await replays.counts('one')
    assert.deepEqual([waiting, under, recovered], [3, 2, 0])
  })

  it('B18: an item keeps its delivery and the process that holds its event, until it is recorded without them', async ({
    replays,
  }) => {
    await replays.create(replayOf('one'), itemsOf(2))
    const [first, second] = itemsOf(2).map(item => ({ ...item, status: 'sent', sentAt: 7 }) as const)
    const given = { ...first!, delivery: 'delivery-1' }
    const held = { ...second!, delivery: 'delivery-1', handedOn: 'in-process', heldBy: 'process-1' } as const
    await replays.record('one', [given, held])
    assert.deepEqual(await replays.items('one'), [given, held])
    assert.deepEqual(await replays.items('one', { status: 'sent', after: 0, limit: 1 }), [held])
    await replays.record('one', [{ ...given, delivery: 'delivery-2' }, second!])
    assert.deepEqual(await replays.items('one'), [{ ...given, delivery: 'delivery-2' }, second!])
  })

  it('B18: a record for a delivery changes only the items that still name this delivery', async ({
    replays,
  }) => {
    await replays.create(replayOf('one'), itemsOf(3))
    const [first, second, third] = itemsOf(3).map(item => ({ ...item, status: 'sent', sentAt: 7 }) as const)
    const kept = { ...first!, delivery: 'delivery-1' }
    const taken = { ...second!, delivery: 'delivery-2' }
    await replays.record('one', [kept, taken, third!])
    const late = [first!, second!, third!].map(
      item => ({ ...item, delivery: 'delivery-1', handedOn: 'in-process', heldBy: 'process-1' }) as const,
    )
    await replays.record('one', late, { delivery: 'delivery-1' })
    assert.deepEqual(await replays.items('one'), [late[0], taken, third!])
  })

  it('B18: a record for a status changes only the items that still have this status', async ({ replays }) => {
    await replays.create(replayOf('one'), itemsOf(2))
    const [first, second] = itemsOf(2).map(item => ({ ...item, status: 'sent', sentAt: 7 }) as const)
    const handedOn = { ...first!, delivery: 'delivery-1', handedOn: 'durable' } as const
    await replays.record('one', [handedOn])
    await replays.record('one', [first!, second!], { status: 'waiting' })
    assert.deepEqual(await replays.items('one'), [handedOn, second!])
    const { waiting, sent } = await replays.counts('one')
    assert.deepEqual([waiting, sent], [0, 2])
    await replays.record('one', [second!, first!], { status: 'sent', delivery: 'delivery-1' })
    assert.deepEqual(await replays.items('one'), [first!, second!])
  })

  it('K8: an item keeps a reason that quotes any text', async ({ replays }) => {
    const items = withReasons('was "a\0"', 'was "\ud800"')
    await replays.create(replayOf('one'), items)
    assert.deepEqual(await replays.items('one'), items)
    const sent = items.map(item => ({ ...item, status: 'sent' }) as const)
    await replays.record('one', sent, { status: 'waiting' })
    assert.deepEqual(await replays.items('one', { status: 'sent' }), sent)
  })

  it('B18: a record for a delivery finds the items that name it, whatever their reasons quote', async ({
    replays,
  }) => {
    const items = withReasons('was "a\0"', 'was "\\u0000"', 'was {"delivery":"delivery-2"}', 'was "\ud800"')
    await replays.create(replayOf('one'), items)
    const sent = items.map(item => ({ ...item, status: 'sent', delivery: 'delivery-1' }) as const)
    await replays.record('one', sent)
    const ended = sent.map(item => ({ ...item, status: 'recovered' }) as const)
    await replays.record('one', ended, { delivery: 'delivery-2' })
    assert.deepEqual(await replays.items('one'), sent)
    await replays.record('one', ended, { delivery: 'delivery-1' })
    assert.deepEqual(await replays.items('one'), ended)
  })

  it('B11: of concurrent updates of one revision exactly one succeeds', async ({ replays }) => {
    await replays.create(replayOf('one'), [])
    const running = replayOf('one', { state: 'running' })
    const answers = await Promise.all([replays.update(running), replays.update(running)])
    const updated = { ...running, revision: 1 }
    assert.deepEqual(answers.filter(Boolean), [updated])
    assert.deepEqual(await replays.get('one'), updated)
    assert.equal(await replays.update(replayOf('one', { state: 'cancelled' })), undefined)
    assert.equal(await replays.update(replayOf('unknown')), undefined)
  })

  it('B18: a replay keeps the problem of sending its letters, until it is updated without it', async ({
    replays,
  }) => {
    await replays.create(replayOf('one', { state: 'running' }), [])
    const problem = {
      reason: "the process p1, which has the sink 'crm', did not answer",
      since: 1_700_000_000_123,
    }
    const updated = await replays.update(replayOf('one', { state: 'running', problem }))
    assert.deepEqual(updated, replayOf('one', { state: 'running', problem, revision: 1 }))
    assert.deepEqual(await replays.get('one'), updated)
    assert.deepEqual(await replays.list({ state: 'running' }), [updated])
    const { problem: _, ...without } = updated!
    await replays.update(without)
    assert.equal((await replays.get('one'))?.problem, undefined)
  })

  it('B11: replays are listed newest first, by state', async ({ replays }) => {
    const ids = ['../0', '../1', '../2', '../3', '../4']
    for (const [at, id] of ids.entries())
      await replays.create(replayOf(id, { createdAt: at, state: at % 2 ? 'planned' : 'halted' }), itemsOf(at))
    const listed = async (query: Parameters<typeof replays.list>[0]) =>
      (await replays.list(query)).map(({ id }) => id)
    assert.deepEqual(await listed({}), [...ids].reverse())
    assert.deepEqual(await listed({ limit: 2 }), ['../4', '../3'])
    assert.deepEqual(await listed({ state: 'halted' }), ['../4', '../2', '../0'])
    for (const [at, id] of ids.entries()) assert.equal((await replays.counts(id)).waiting, at)
  })

  inStoreWorld(suite)(
    'B11: one runner at a time has the lease, until the lease expires or is released',
    async world => {
      const { timing, store } = world
      const { replays } = store
      await replays.create(replayOf('one'), [])
      assert.equal(await replays.lease('one', 'a', LONG_MS), true)
      assert.equal(await replays.lease('one', 'b', LONG_MS), false)
      assert.equal(await replays.lease('one', 'a', timing.delayMs), true)
      await timing.pass(timing.delayMs + 1)
      assert.equal(await replays.lease('one', 'b', LONG_MS), true)
      await replays.releaseLease('one', 'a')
      assert.equal(await replays.lease('one', 'a', LONG_MS), false)
      await replays.releaseLease('one', 'b')
      assert.equal(await replays.lease('one', 'a', LONG_MS), true)
      assert.equal(await replays.lease('unknown', 'a', LONG_MS), false)
    },
  )

  itDurable('B11: a replay and all its items survive a restart', async world => {
    await world.store.replays.create(replayOf('one'), itemsOf(20))
    const sent = { ...itemsOf(8)[7]!, status: 'sent', sentAt: 5, handedOn: 'durable' } as const
    await world.store.replays.record('one', [sent])
    const { replays } = await world.reopen()
    assert.deepEqual(await replays.get('one'), replayOf('one'))
    assert.deepEqual(await replays.items('one', { status: 'sent' }), [sent])
    assert.equal((await replays.counts('one')).waiting, 19)
  })
}
