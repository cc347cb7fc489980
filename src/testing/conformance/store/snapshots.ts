import assert from 'node:assert/strict'
import type { ChannelSnapshot, SnapshotQuery, Snapshots } from '../../../ports/snapshots.ts'
import { inDurableStoreWorld, inStoreWorld, onStore, type StoreConformance } from './suite.ts'

const NOON = 1_700_000_000_000

/** A snapshot of a channel at a number of milliseconds after noon. */
export function snapshotOf(
  channel: string,
  ms: number,
  change: Partial<ChannelSnapshot> = {},
): ChannelSnapshot {
  return {
    v: 1,
    at: NOON + ms,
    channel,
    depth: 7,
    oldestAt: NOON - 60_000,
    overAge: 2,
    averageRetries: 1.5,
    sampled: 7,
    errors: [{ fingerprint: 'a1b2', name: 'TypeError', count: 4 }],
    ...change,
  }
}

/** The channel and the milliseconds after noon of each listed snapshot. */
async function shown(snapshots: Snapshots, query?: SnapshotQuery): Promise<string[]> {
  return (await snapshots.list(query)).map(({ channel, at }) => `${channel} ${at - NOON}`)
}

const BAD_QUERIES: readonly (readonly [query: object, message: RegExp])[] = [
  [{ perChannel: 0 }, /query\.perChannel/],
  [{ perChannel: 10_001 }, /query\.perChannel/],
  [{ perChannel: 1.5 }, /query\.perChannel/],
  [{ after: Number.NaN }, /query\.after/],
  [{ before: 'noon' }, /query\.before/],
  [{ channel: '' }, /query\.channel/],
  [{ chanel: 'orders' }, /did you mean 'channel'/],
]

const BAD_SNAPSHOTS = [
  [{ at: Number.NaN }, /snapshots\[1\]\.at/],
  [{ at: 1.5 }, /snapshots\[1\]\.at/],
  [{ channel: '' }, /snapshots\[1\]\.channel/],
  [{ depth: -1 }, /snapshots\[1\]\.depth/],
  [{ errors: [{ fingerprint: 'a', name: 'E', count: Number.POSITIVE_INFINITY }] }, /errors\[0\]\.count/],
] as const

/** Channel names that a store could misread. */
const STRANGE = [
  '__proto__',
  'constructor',
  "o'clock; --",
  'a b',
  'a/../b',
  '%2e*?[x]',
  '{x}:y',
  'back\\slash',
  'back\\u0000',
  'nul\0',
  'half\ud800',
  'half\ud801',
  'ümläut',
  '\u{1f4ec}',
  '\uffee',
  'x'.repeat(1_000),
]

/** What the port of snapshots promises. */
export function snapshotTests(suite: StoreConformance): void {
  const it = onStore(suite)
  const itDurable = inDurableStoreWorld(suite)

  it('K7: snapshots are listed completely, by channel, newest first', async ({ snapshots }) => {
    assert.deepEqual(await snapshots.list(), [])
    const bare = snapshotOf('mails', 5, { depth: 0, oldestAt: undefined, errors: [] })
    await snapshots.append([snapshotOf('orders', 5), bare])
    await snapshots.append([snapshotOf('orders', 7), snapshotOf('orders', 6)])
    await snapshots.append([])
    assert.deepEqual(await shown(snapshots), ['mails 5', 'orders 7', 'orders 6', 'orders 5'])
    const { oldestAt: _, ...kept } = bare
    assert.deepEqual(await snapshots.list({ perChannel: 1 }), [kept, snapshotOf('orders', 7)])
  })

  it('K7: a channel has one snapshot for a time, the last one written', async ({ snapshots }) => {
    await snapshots.append([snapshotOf('orders', 1), snapshotOf('orders', 2), snapshotOf('mails', 1)])
    const [later, last] = [1, 2].map(depth => snapshotOf('orders', 1, { depth }))
    await snapshots.append([later!])
    await snapshots.append([later!, last!])
    assert.deepEqual(await snapshots.list({ channel: 'orders' }), [snapshotOf('orders', 2), last])
    assert.deepEqual(await snapshots.list({ channel: 'mails' }), [snapshotOf('mails', 1)])
  })

  it('K7: a list can be limited by channel, time and number per channel', async ({ snapshots }) => {
    const all = ['mails', 'orders'].flatMap(channel =>
      Array.from({ length: 15 }, (_, ms) => snapshotOf(channel, ms)),
    )
    await snapshots.append(all)
    assert.equal((await snapshots.list()).length, 20)
    assert.equal((await snapshots.list({ perChannel: 10_000 })).length, 30)
    assert.deepEqual(await shown(snapshots, { channel: 'mails', perChannel: 2 }), ['mails 14', 'mails 13'])
    const early = { after: NOON + 3, before: NOON + 5 }
    assert.deepEqual(await shown(snapshots, early), ['mails 4', 'mails 3', 'orders 4', 'orders 3'])
    assert.deepEqual(await shown(snapshots, { ...early, perChannel: 1 }), ['mails 4', 'orders 4'])
    assert.deepEqual(await shown(snapshots, { channel: 'mails', after: NOON + 13.5 }), ['mails 14'])
    assert.equal((await snapshots.list({ after: -1e300, before: 1e300, perChannel: 15 })).length, 30)
    assert.deepEqual(await snapshots.list({ after: NOON + 15 }), [])
    assert.deepEqual(await snapshots.list({ channel: 'unheard-of' }), [])
    assert.deepEqual(await snapshots.list({ channel: 'order' }), [])
  })

  it('K7: a purge deletes older snapshots and returns their number', async ({ snapshots }) => {
    await snapshots.append([1, 2, 3].flatMap(ms => [snapshotOf('orders', ms), snapshotOf('mails', ms)]))
    await snapshots.append([snapshotOf('old', 1)])
    assert.equal(await snapshots.purge(NOON), 0)
    assert.equal(await snapshots.purge(NOON + 2.5), 5)
    assert.equal(await snapshots.purge(NOON + 2.5), 0)
    assert.deepEqual(await shown(snapshots), ['mails 3', 'orders 3'])
    await snapshots.append([snapshotOf('old', 0), snapshotOf('orders', 1)])
    assert.deepEqual(await shown(snapshots), ['mails 3', 'old 0', 'orders 3', 'orders 1'])
    assert.equal(await snapshots.purge(Number.MAX_SAFE_INTEGER), 4)
    assert.deepEqual(await snapshots.list(), [])
    await assert.rejects(snapshots.purge(Number.NaN), { code: 'LAZARET_OPTIONS_INVALID' })
  })

  it('K7: any text is a channel name and is found exactly', async ({ snapshots }) => {
    await snapshots.append(STRANGE.map((channel, depth) => snapshotOf(channel, 0, { depth })))
    for (const [depth, channel] of STRANGE.entries())
      assert.deepEqual(await snapshots.list({ channel }), [snapshotOf(channel, 0, { depth })])
    const named = (await snapshots.list()).map(({ channel }) => channel)
    assert.deepEqual(named, [...STRANGE].sort())
    const errors = [{ fingerprint: 'a\0b', name: 'half \ud800 "quoted"', count: 1 }]
    await snapshots.append([snapshotOf('orders', 0, { errors })])
    assert.deepEqual(await snapshots.list({ channel: 'orders' }), [snapshotOf('orders', 0, { errors })])
    assert.equal(await snapshots.purge(NOON + 1), STRANGE.length + 1)
  })

  it('K7: a thousand channels, and thousands of snapshots of one, are listed and purged completely', async ({
    snapshots,
  }) => {
    const channels = Array.from({ length: 1_000 }, (_, index) => `channel-${index}`)
    for (let ms = 0; ms < 3; ms++) await snapshots.append(channels.map(channel => snapshotOf(channel, ms)))
    const all = await snapshots.list()
    assert.equal(all.length, 3_000)
    const everyThird = all.filter((_, index) => index % 3 === 0).map(({ channel }) => channel)
    assert.deepEqual(everyThird, [...channels].sort())
    assert.equal((await snapshots.list({ perChannel: 1 })).length, 1_000)
    const often = Array.from({ length: 2_500 }, (_, ms) => snapshotOf('often', ms))
    await snapshots.append(often)
    const newest = async (perChannel: number) => await snapshots.list({ channel: 'often', perChannel })
    assert.deepEqual(await newest(10_000), often.toReversed())
    assert.deepEqual(await newest(2_300), often.toReversed().slice(0, 2_300))
    assert.equal(await snapshots.purge(NOON + 3), 3_003)
    assert.equal((await snapshots.list({ perChannel: 10_000 })).length, 2_497)
  })

  inStoreWorld(suite)('K7: concurrent appends are all stored once', async world => {
    const parts = [world.store, await world.openSecond()].map(({ snapshots }) => snapshots)
    const channels = Array.from({ length: 50 }, (_, index) => `channel-${index}`)
    const rounds = [0, 1, 2, 3, 4].flatMap(ms =>
      parts.map((part, who) => {
        const taken = channels.map(channel => snapshotOf(channel, ms))
        return part.append(who === 0 ? taken : taken.toReversed())
      }),
    )
    await Promise.all(rounds)
    for (const part of parts) {
      const all = await part.list()
      assert.equal(all.length, 250)
      assert.deepEqual(new Set(all.map(({ channel }) => channel)), new Set(channels))
    }
    const [first = 0, second = 0] = await Promise.all(parts.map(part => part.purge(NOON + 4)))
    assert.equal(first + second, 200)
    for (const part of parts) assert.equal((await part.list()).length, 50)
  })

  it('K7: an invalid query is refused, and so is an invalid snapshot', async ({ snapshots }) => {
    const code = 'LAZARET_OPTIONS_INVALID'
    for (const [query, message] of BAD_QUERIES)
      await assert.rejects(snapshots.list(query as SnapshotQuery), { code, message })
    for (const [change, message] of BAD_SNAPSHOTS) {
      const [good, bad] = [snapshotOf('orders', 1), snapshotOf('orders', 2, change)]
      await assert.rejects(snapshots.append([good, bad]), { code, message })
    }
    assert.deepEqual(await snapshots.list(), [])
  })

  it('K7: calls after close reject as closed', async store => {
    const { snapshots } = store
    await store.close()
    const closed = { code: 'LAZARET_STORE_CLOSED' }
    await assert.rejects(snapshots.append([]), closed)
    await assert.rejects(snapshots.append([snapshotOf('orders', 1)]), closed)
    await assert.rejects(snapshots.list(), closed)
    await assert.rejects(snapshots.list({ channel: 'orders' }), closed)
    await assert.rejects(snapshots.purge(NOON), closed)
  })

  itDurable('K7: snapshots survive a restart, and purged ones stay deleted', async world => {
    const { snapshots: before } = world.store
    await before.append([1, 2, 3].map(ms => snapshotOf('orders', ms)))
    await before.append([snapshotOf('orders', 3, { depth: 0 }), snapshotOf('__proto__', 3)])
    assert.equal(await before.purge(NOON + 2), 1)
    const { snapshots } = await world.reopen()
    assert.deepEqual(await snapshots.list(), [
      snapshotOf('__proto__', 3),
      snapshotOf('orders', 3, { depth: 0 }),
      snapshotOf('orders', 2),
    ])
  })
}
