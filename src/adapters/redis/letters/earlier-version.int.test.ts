import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findRedis, type RedisService } from '../../../../test/services/redis.ts'
import { type EarlierVersion, openEarlier } from '../../../../test/support/redis-earlier.ts'
import { faultsOf } from '../../../../test/support/redis-letters.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { systemClock } from '../../../ports/clock.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { createFactory } from '../../../testing/factories.ts'
import { openRedis, type RedisStore } from '../index.ts'

const redis = await findRedis()
const why = redis.found ? '' : ` (skipped: ${redis.why})`
const make = createFactory({ clock: systemClock })
/** A server under load answers late, and none of these tests is about that. */
const TIMEOUT_MS = 60_000

describe.runIf(redis.found)(`an earlier version beside this one on Redis${why}`, () => {
  let server: RedisService
  let prefix: string
  let store: RedisStore
  let earlier: EarlierVersion
  beforeAll(async () => {
    server = redis.found ? await redis.start({ appendfsync: 'no' }) : (undefined as never)
  })
  beforeEach(async () => {
    prefix = uniqueName('earlier')
    store = openRedis({ url: server.url, prefix, timeoutMs: TIMEOUT_MS })
    earlier = await openEarlier(server.url, prefix)
  })
  afterEach(async () => {
    await store.close()
    await earlier.close()
  })
  afterAll(() => server?.close())

  const assorted = (count: number): DeadLetter[] =>
    Array.from({ length: count }, (_, index) =>
      make.letter({
        event: make.event({ channel: `channel-${index % 3}` }),
        attempts: Array.from({ length: 1 + (index % 4) }, (_, at) => make.attempt(at + 1)),
      }),
    )
  const sendAll = (letters: readonly DeadLetter[]) =>
    Promise.all(letters.map(letter => store.deadLetters.send(letter)))
  const idsOf = (letters: readonly DeadLetter[]) => letters.map(({ id }) => id).sort()

  it('E9: letters of an earlier version, which had no facets, are listed in every order, filtered and counted', async () => {
    const letters = assorted(230)
    await earlier.save(...letters)
    const { letters: found } = await store.deadLetters.list({ sort: 'attempts', limit: 1_000 })
    expect(found.map(({ cycle }) => cycle.attemptCount)).toEqual(
      letters.map(({ cycle }) => cycle.attemptCount).sort((a, b) => b - a),
    )
    expect((await store.deadLetters.stats({ channel: 'channel-1' })).count).toBe(77)
    expect(await faultsOf(server.url, prefix)).toEqual([])
  })

  it('E9: letters that an earlier version adds or changes later are listed and counted by the next call', async () => {
    const letters = assorted(150)
    const [kept, changed, added] = [letters.slice(0, 50), letters.slice(50, 100), letters.slice(100)]
    await sendAll([...kept, ...changed])
    expect((await store.deadLetters.stats({ state: 'dead', channel: 'channel-0' })).count).toBe(34)
    await earlier.save(...changed.map(letter => ({ ...letter, state: 'parked' as const })), ...added)
    const { deadLetters } = store
    const parked = await deadLetters.list({ state: 'parked', sort: 'firstFailed', limit: 200 })
    expect(idsOf(parked.letters)).toEqual(idsOf(changed))
    const dead = await deadLetters.list({ state: 'dead', sort: 'attempts', limit: 200 })
    expect(idsOf(dead.letters)).toEqual(idsOf([...kept, ...added]))
    expect((await deadLetters.stats({ state: 'dead', handler: letters[0]!.handler })).count).toBe(100)
    expect(await faultsOf(server.url, prefix)).toEqual([])
  })

  it('E9: a letter of an earlier version that is changed or deleted before anybody lists it leaves nothing behind', async () => {
    const [changed, deleted, ...added] = assorted(4)
    await sendAll([changed!, deleted!])
    await earlier.save({ ...changed!, state: 'parked' }, { ...deleted!, state: 'parked' }, ...added)
    await store.deadLetters.change(changed!.id, { to: 'discarded', at: systemClock.now() })
    await store.deadLetters.change(added[0]!.id, { to: 'discarded', at: systemClock.now() })
    for (const { id } of [deleted!, added[1]!]) expect(await store.deadLetters.delete(id)).toBe(true)
    expect(await faultsOf(server.url, prefix)).toEqual([])
  })

  it('E9: letters that an earlier version deletes are not counted once each call has checked some entries', async () => {
    const letters = assorted(2_500)
    await sendAll(letters)
    await earlier.delete(...idsOf(letters).filter((_, index) => index % 50 === 0))
    const count = async () => (await store.deadLetters.stats({ state: 'dead' })).count
    const counts: number[] = []
    // 2 500 entries at 1 000 a call, and one call that looks at the last ones.
    for (let call = 0; call < 4; call++) counts.push(await count())
    expect(counts.at(-1)).toBe(2_450)
    expect(counts[0]).toBeGreaterThan(2_450)
    expect(await faultsOf(server.url, prefix)).toEqual([])
  })

  it('E9: a cleanup repairs everything that earlier versions left behind, also an index that lost letters', async () => {
    const letters = assorted(1_200)
    await sendAll(letters.slice(0, 1_000))
    await earlier.delete(...idsOf(letters.slice(0, 100)))
    await earlier.save(...letters.slice(1_000))
    expect(await store.deadLetters.cleanup()).toBe(0)
    expect(await faultsOf(server.url, prefix)).toEqual([])
    expect((await store.deadLetters.stats({ state: 'dead' })).count).toBe(1_100)
    const command = (...args: [string, ...string[]]) => server.node!.command(...args)
    await command('EVAL', LOSE_A_FACET, '1', `{${prefix}}:letters`)
    expect((await store.deadLetters.stats({ state: 'dead' })).count).toBeLessThan(1_100)
    await store.deadLetters.cleanup()
    expect((await store.deadLetters.stats({ state: 'dead' })).count).toBe(1_100)
    expect(await faultsOf(server.url, prefix)).toEqual([])
  })

  it('E11: a full server lists the letters of an earlier version, and still refuses new ones', async () => {
    const letters = assorted(120)
    await earlier.save(...letters)
    const limit = (bytes: string) => server.node!.command('CONFIG', 'SET', 'maxmemory', bytes)
    await limit('1mb')
    try {
      await expect(store.deadLetters.send(make.letter())).rejects.toMatchObject({
        code: 'LAZARET_DEAD_LETTERS_FULL',
      })
      const found = await store.deadLetters.list({ sort: 'attempts', limit: 200 })
      expect(found.letters).toHaveLength(120)
      await earlier.delete(letters[0]!.id)
      expect((await store.deadLetters.list({ state: 'dead', limit: 200 })).letters).toHaveLength(119)
      await expect(store.deadLetters.send(make.letter())).rejects.toMatchObject({
        code: 'LAZARET_DEAD_LETTERS_FULL',
      })
    } finally {
      await limit('0')
    }
    await store.deadLetters.cleanup()
    expect(await faultsOf(server.url, prefix)).toEqual([])
  })
})

/** Makes one facet lose a letter, as no version does. */
const LOSE_A_FACET = `
local root = KEYS[1]
local facet = redis.call('HKEYS', root .. ':facets')[1]
redis.call('ZREMRANGEBYRANK', root .. ':facet:' .. facet, 0, 0)
redis.call('DECR', root .. ':faceted')
`
