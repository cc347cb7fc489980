import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findRedis } from '../../../../test/services/redis.ts'
import { TestTiming, uniqueName } from '../../../testing/conformance/harness.ts'
import { itemsOf, replayOf } from '../../../testing/conformance/store/replays.ts'
import { snapshotOf } from '../../../testing/conformance/store/snapshots.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { openRedis, type RedisStore, redisLedger } from '../index.ts'

const found = await findRedis()
const server = found.found ? await found.start({ appendfsync: 'no' }) : undefined
const timing = new TestTiming({})
const clock = new FakeClock()
const make = createFactory({ clock })
let store: RedisStore
beforeEach(() => {
  if (server) store = openRedis({ url: server.url, clock, prefix: uniqueName('operating') })
})
afterEach(() => store?.close())
afterAll(() => server?.close())
const why = found.found ? '' : ` (skipped: ${found.why})`

describe.runIf(found.found)(`Redis dead letters${why}`, () => {
  it('P2: invalid text is kept in letters and can still be found', async () => {
    const event = make.event({ payload: { text: 'a\0b\ud800' } })
    const letter = make.letter({ event, error: new Error('broken \0 text') })
    await store.deadLetters.send(letter)
    expect(await store.deadLetters.get(letter.id)).toEqual(letter)
    expect((await store.deadLetters.list({ search: 'BROKEN' })).letters).toEqual([letter])
    expect((await store.deadLetters.list({ channel: 'or\0ders' })).letters).toEqual([])
    expect((await store.deadLetters.list({ after: -1e300, before: 1e300 })).letters).toEqual([letter])
  })
})

describe.runIf(found.found)(`Redis replays${why}`, () => {
  it('K8: one whose items cannot all be kept is not there at all', async () => {
    const twice = [...itemsOf(1), ...itemsOf(1)]
    await expect(store.replays.create(replayOf('one'), twice)).rejects.toMatchObject({
      code: 'LAZARET_REPLAY_REFUSED',
    })
    expect(await store.replays.get('one')).toBeUndefined()
    expect(await store.replays.items('one')).toEqual([])
  })
})

describe.runIf(found.found)(`Redis snapshots${why}`, () => {
  it('K7: of what was purged no key is left, and no name of a channel', async () => {
    const prefix = uniqueName('purged')
    const purged = openRedis({ url: server!.url, clock, prefix })
    const keys = async () => String(await server!.node!.command('KEYS', `{${prefix}}*`))
    await purged.snapshots.append([snapshotOf('orders', 1), snapshotOf('mails', 1), snapshotOf('mails', 2)])
    expect(await purged.snapshots.purge(snapshotOf('mails', 2).at)).toBe(2)
    const names = await server!.node!.command('SMEMBERS', `{${prefix}}:snapshots:channels`)
    expect(names).toEqual(['mails'])
    expect(await purged.snapshots.purge(snapshotOf('mails', 3).at)).toBe(1)
    expect(await keys()).toBe('')
    await purged.close()
  })
})

describe.runIf(found.found)(`a Redis ledger${why}`, () => {
  it('S8: what was done longer ago than it is to be kept is forgotten by the server itself', async () => {
    const prefix = uniqueName('short')
    const ledger = redisLedger({ url: server!.url, prefix, ledgerRetentionMs: 20 })
    const claim = await ledger.claim('bill', 'charge-1', 10_000)
    expect(claim.kind === 'claimed' && (await ledger.complete('bill', 'charge-1', claim.token))).toBe(true)
    const isForgotten = async () => (await ledger.claim('bill', 'charge-1', 1)).kind === 'claimed'
    await timing.eventually(isForgotten, 'it is forgotten')
    const isEmpty = async () => String(await server!.node!.command('KEYS', `{${prefix}:*`)) === ''
    await timing.eventually(isEmpty, 'no key is left')
    await ledger.close()
    await expect(ledger.claim('bill', 'charge-1', 1)).rejects.toMatchObject({ code: 'LAZARET_STORE_CLOSED' })
  })
})
