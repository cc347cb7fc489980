import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findRedis, type RedisService } from '../../../../test/services/redis.ts'
import { beforeTime } from '../../../../test/support/before-time.ts'
import { countedClient } from '../../../../test/support/redis-counted.ts'
import { faultsOf } from '../../../../test/support/redis-letters.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { LETTER_STATES, type LetterState } from '../../../core/dead-letter/state.ts'
import { systemClock } from '../../../ports/clock.ts'
import { plainCodec } from '../../../ports/codec.ts'
import type { DeadLetterStore, SeenLetter } from '../../../ports/dead-letters.ts'
import { TestTiming, uniqueName } from '../../../testing/conformance/harness.ts'
import { createFactory } from '../../../testing/factories.ts'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { openRedis, type RedisOptions, type RedisStore } from '../index.ts'

const redis = await findRedis()
const why = redis.found ? '' : ` (skipped: ${redis.why})`
const timing = new TestTiming({})
const make = createFactory({ clock: systemClock })

describe.runIf(redis.found)(`dead letters on Redis${why}`, () => {
  let server: RedisService
  const stores: RedisStore[] = []
  beforeAll(async () => {
    server = redis.found ? await redis.start({ appendfsync: 'no' }) : (undefined as never)
  })
  afterAll(() => server?.close())
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close()
  })

  function open(options: Partial<RedisOptions> = {}): RedisStore {
    const store = openRedis({ url: server.url, ...options })
    stores.push(store)
    return store
  }
  const gone = (store: RedisStore) => async () => (await store.deadLetters.stats()).count === 0

  async function deleteSome(deadLetters: DeadLetterStore, state: LetterState): Promise<void> {
    const { letters } = await deadLetters.list({ state, limit: 5 })
    await deadLetters.deleteMany(
      letters.map(({ id, cycle }) => ({ id, state, lastFailedAt: cycle.lastFailedAt })),
    )
  }

  it('E11: whatever is done to letters at once, nothing points to one that is not there, and counts are right', async () => {
    const prefix = uniqueName('random')
    const random = seededRandom(7)
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
    const desks = [
      open({ prefix }),
      open({ prefix, retentionMs: 40, expireUndecidedAfterMs: 40 }),
      open({ prefix }),
    ]
    const letters = Array.from({ length: 40 }, () =>
      make.letter({
        event: make.event({ channel: pick(['orders', 'mails', 'constructor']), type: pick(['a', 'b']) }),
        error: pick([new Error('one'), new TypeError('two')]),
      }),
    )
    const deeds: (() => Promise<unknown>)[] = Array.from({ length: 600 }, () => {
      const { deadLetters } = pick(desks)
      const letter = pick(letters)
      const told = make.letter({
        event: letter.event,
        replay: pick([0, 1, 2]),
        error: pick([new Error('one'), new RangeError('x')]),
      })
      const to = pick(LETTER_STATES)
      return pick([
        () => deadLetters.send(told),
        () => deadLetters.send(letter),
        () => deadLetters.change(letter.id, { to, at: systemClock.now() }).catch(() => {}),
        () => deadLetters.delete(letter.id),
        () => deleteSome(deadLetters, to),
        () => deadLetters.list({ state: to }),
      ])
    })
    for (let at = 0; at < deeds.length; at += 50) {
      await Promise.all(deeds.slice(at, at + 50).map(deed => deed()))
      expect(await faultsOf(server.url, prefix)).toEqual([])
    }
    const isOneNumber = async () => {
      const { count } = await desks[0]!.deadLetters.stats()
      return (await desks[0]!.deadLetters.list({ limit: 100 })).letters.length === count
    }
    await timing.eventually(isOneNumber, 'what is listed is what is counted')
    for (const letter of letters) await desks[0]!.deadLetters.delete(letter.id)
    expect(await desks[0]!.deadLetters.stats()).toMatchObject({ count: 0, byState: {}, byChannel: {} })
    expect((await desks[0]!.groups.list()).groups).toEqual([])
    expect(await faultsOf(server.url, prefix)).toEqual([])
  })

  it('E13: undecided letters outlive the retention, those of an earlier version too, which gave them an expiry', async () => {
    const prefix = uniqueName('undecided')
    const store = open({ prefix, retentionMs: 5 })
    const letters = Array.from({ length: 150 }, () => make.letter())
    await Promise.all(letters.map(letter => store.deadLetters.send(letter)))
    const [first, ...rest] = letters.map(({ id }) => ['0', id])
    await server.node!.command('ZADD', `{${prefix}}:letters:expiry`, ...first!, ...rest.flat())
    await timing.pass(10)
    expect(await store.deadLetters.get(letters[0]!.id)).toEqual(letters[0])
    expect(await store.deadLetters.cleanup()).toBe(0)
    expect((await store.deadLetters.stats()).byState).toEqual({ dead: 150 })
    expect(await server.node!.command('ZCARD', `{${prefix}}:letters:expiry`)).toBe(0)
    const at = systemClock.now()
    expect((await store.deadLetters.change(letters[0]!.id, { to: 'discarded', at }))?.state).toBe('discarded')
    await timing.pass(10)
    expect(await store.deadLetters.cleanup()).toBe(1)
    expect(await faultsOf(server.url, prefix)).toEqual([])
  })

  it('E13: what goes while someone does something else is told to the audit once, when someone looks', async () => {
    const prefix = uniqueName('told')
    const store = open({ prefix, retentionMs: 20 })
    const letters = Array.from({ length: 130 }, () => make.letter())
    await Promise.all(letters.map(letter => store.deadLetters.send(letter)))
    const at = systemClock.now()
    for (const { id } of letters) await store.deadLetters.change(id, { to: 'discarded', at })
    await timing.eventually(gone(store), 'all are gone')
    const { entries } = await store.audit.list()
    const deleted = entries.map(({ detail }) => Number(detail?.['letters']))
    expect(deleted.reduce((sum, each) => sum + each, 0)).toBe(130)
    expect(entries).toHaveLength(1)
    expect(entries[0]).toMatchObject({ by: 'retention', action: 'letters.expire' })
    expect(await store.deadLetters.cleanup()).toBe(0)
    expect((await store.audit.list()).entries).toHaveLength(1)
  })

  it('E11: a letter ends with its time, with everything that points to it, and is never counted after', async () => {
    const prefix = uniqueName('expiry')
    const store = open({ prefix, expireUndecidedAfterMs: 30 })
    for (let count = 0; count < 250; count++) await store.deadLetters.send(make.letter())
    const last = make.letter()
    await store.deadLetters.send(last)
    await timing.eventually(gone(store), 'all are gone')
    expect(await store.deadLetters.get(last.id)).toBeUndefined()
    expect((await store.deadLetters.list()).letters).toEqual([])
    expect((await store.groups.list()).groups).toEqual([])
    expect(await faultsOf(server.url, prefix)).toEqual([])
    expect(((await server.node!.command('KEYS', `{${prefix}}:letters:*`)) as string[]).sort()).toEqual([
      `{${prefix}}:letters:expired`,
      `{${prefix}}:letters:faceted`,
      `{${prefix}}:letters:version`,
    ])
  })

  it('E11: of many that end at once none is shown or counted, though one script sweeps only some', async () => {
    const staying = Array.from({ length: 5 }, () => make.letter())
    const [{ store, prefix }, expiresAt] = await beforeTime(1_000, async endsAt => {
      const prefix = uniqueName('many')
      const store = open({ prefix, retentionMs: 'never' })
      const ending = Array.from({ length: 350 }, () => ({ ...make.letter(), expiresAt: endsAt }))
      await Promise.all([...ending, ...staying].map(letter => store.deadLetters.send(letter)))
      return { store, prefix }
    })
    await timing.pass(Math.max(0, expiresAt - systemClock.now()) + 1)
    const [page, stats, orders] = await Promise.all([
      store.deadLetters.list({ limit: 1_000 }),
      store.deadLetters.stats(),
      store.deadLetters.stats({ channel: staying[0]!.channel }),
    ])
    expect([page.letters.length, stats.count, orders.count]).toEqual([5, 5, 5])
    expect(await store.deadLetters.cleanup()).toBe(350)
    expect(await store.deadLetters.cleanup()).toBe(0)
    expect(await faultsOf(server.url, prefix)).toEqual([])
  })

  it('E11, E13: by default a decided letter goes 7 days after its decision, and an undecided one never', async () => {
    const prefix = uniqueName('default')
    const store = open({ prefix })
    const [decided, undecided, never] = [
      make.letter(),
      make.letter(),
      make.letter({ expiresAfterMs: 'never' }),
    ]
    for (const letter of [decided, undecided, never]) await store.deadLetters.send(letter)
    const goesAt = async () =>
      (await server.node!.command(
        'ZRANGE',
        `{${prefix}}:letters:expiry`,
        '0',
        '-1',
        'WITHSCORES',
      )) as string[]
    expect(await goesAt()).toEqual([])
    const serverTime = async () => {
      const [seconds, micros] = (await server.node!.command('TIME')) as string[]
      return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
    }
    const before = await serverTime()
    await store.deadLetters.change(decided.id, { to: 'discarded', at: systemClock.now() })
    const after = await serverTime()
    const [id, at] = await goesAt()
    expect(id).toBe(decided.id)
    const decidedAt = Number(at) - 7 * 86_400_000
    expect([decidedAt >= before, decidedAt <= after]).toEqual([true, true])
    expect(await goesAt()).toHaveLength(2)
  })

  it('E13: cleanup gives back what has expired while nobody called', async () => {
    const store = open({ prefix: uniqueName('cleanup'), expireUndecidedAfterMs: 300 })
    await Promise.all(Array.from({ length: 120 }, () => store.deadLetters.send(make.letter())))
    await timing.pass(320)
    expect(await store.deadLetters.cleanup()).toBe(120)
  })

  it('E11: the retention of a letter starts at its last write and lasts as long as its saver set, no matter who changes it', async () => {
    const prefix = uniqueName('life')
    const [service, desk] = [
      open({ prefix, retentionMs: 'never' }),
      open({ prefix, retentionMs: 1, expireUndecidedAfterMs: 1 }),
    ]
    const letter = make.letter()
    await service.deadLetters.send(letter)
    for (const to of ['parked', 'discarded'] as const) {
      await desk.deadLetters.change(letter.id, { to, at: systemClock.now() })
      await timing.pass(5)
      expect((await desk.deadLetters.get(letter.id))?.state).toBe(to)
    }
  })

  it('K8: a letter that is being replayed does not end before its outcome can be known', async () => {
    const [replayed, other] = [make.letter(), make.letter()]
    const [store] = await beforeTime(300, async (_, lifeMs) => {
      const prefix = uniqueName('replaying')
      const store = open({ prefix, retentionMs: lifeMs, expireUndecidedAfterMs: lifeMs })
      await store.deadLetters.send(replayed)
      await store.deadLetters.send(other)
      await store.deadLetters.change(replayed.id, { to: 'replaying', at: systemClock.now() })
      return store
    })
    await timing.eventually(async () => (await store.deadLetters.get(other.id)) === undefined, 'one ends')
    await timing.pass(10)
    expect((await store.deadLetters.get(replayed.id))?.state).toBe('replaying')
    await store.deadLetters.change(replayed.id, { to: 'resolved', at: systemClock.now() })
    await timing.eventually(gone(store), 'it ends when it is resolved')
  })

  it('E9: a filter that no index has looks through any number of letters, slice by slice', async () => {
    const store = open({ prefix: uniqueName('slices') })
    const letters: DeadLetter[] = Array.from({ length: 2_500 }, (_, at) =>
      make.letter({ handler: at % 1_250 === 7 ? 'rare' : 'common', error: new Error(`no ${at}.`) }),
    )
    await Promise.all(letters.map(letter => store.deadLetters.send(letter)))
    const found = await store.deadLetters.list({ handler: 'rare', limit: 1 })
    expect(found.letters).toHaveLength(1)
    const next = await store.deadLetters.list({ handler: 'rare', limit: 1, cursor: found.cursor })
    expect(next.letters.map(({ handler }) => handler)).toEqual(['rare'])
    expect(next.cursor).toBeUndefined()
    expect((await store.deadLetters.list({ search: 'NO 1777.' })).letters).toEqual([letters[1_777]])
    expect((await store.deadLetters.stats({ handler: 'common' })).count).toBe(2_498)
  })

  it('E9, F8: letters of many facets are read in a few round trips', async () => {
    let calls = 0
    const { client, close } = await countedClient(server.url, () => void calls++)
    const store = openRedis({ client, prefix: uniqueName('facets') })
    stores.push(store)
    const { deadLetters } = store
    const letters = Array.from({ length: 300 }, (_, at) =>
      make.letter({ event: make.event({ type: `type-${at}` }) }),
    )
    await Promise.all(letters.map(letter => deadLetters.send(letter)))
    const ids = letters.map(({ id }) => id).sort()
    const read = {
      versions: async () => {
        const found: SeenLetter[] = []
        for await (const portion of deadLetters.versions()) found.push(...portion)
        return found
      },
      search: async () => (await deadLetters.stats({ search: 'type-29' })).count,
      sorted: async () => (await deadLetters.list({ sort: 'type', limit: 1_000 })).letters,
      filtered: async () => (await deadLetters.list({ sort: 'type', state: 'dead', limit: 1_000 })).letters,
    }
    // The server must know the scripts: otherwise each is sent twice.
    for (const each of Object.values(read)) await each()
    const few = async <T>(ask: () => Promise<T>) => {
      calls = 0
      const answer = await ask()
      expect(calls).toBeLessThanOrEqual(6)
      return answer
    }
    expect((await few(read.versions)).map(({ id }) => id).sort()).toEqual(ids)
    expect(await few(read.search)).toBe(11)
    for (const ask of [read.sorted, read.filtered])
      expect((await few(ask)).map(({ event }) => event.type)).toEqual(
        letters.map(({ event }) => event.type).sort(),
      )
    await store.close()
    await close()
  })

  it('E11: it knows what its letters take of the memory there is', async () => {
    const store = open({ prefix: uniqueName('memory') })
    expect((await store.deadLetters.memory()).letterBytes).toBe(0)
    const before = (await store.deadLetters.memory()).usedBytes
    // So many that the buffers of connections, which grow and shrink meanwhile, are small beside them. Not all at once: a busy
    // server would answer the last of them too late.
    for (let sent = 0; sent < 3_000; sent += 100)
      await Promise.all(Array.from({ length: 100 }, () => store.deadLetters.send(make.letter())))
    const { letterBytes, usedBytes, evictionPolicy } = await store.deadLetters.memory()
    expect(letterBytes / (usedBytes - before)).toBeGreaterThan(0.5)
    expect(letterBytes / (usedBytes - before)).toBeLessThan(2)
    expect(evictionPolicy).toBe('noeviction')
  })

  it('P2: letters are written with the codec, and can still be searched', async () => {
    const seal = (text: string) => Buffer.from(text).toString('base64')
    const { letters } = plainCodec
    const codec = {
      ...plainCodec,
      letters: {
        encode: letter => seal(letters.encode(letter)),
        decode: text => letters.decode(Buffer.from(text, 'base64').toString()),
      },
    } satisfies typeof plainCodec
    const prefix = uniqueName('sealed')
    const store = open({ prefix, codec })
    const letter = make.letter({ event: make.event({ payload: { text: 'hush \0 \ud800' } }) })
    await store.deadLetters.send(letter)
    await store.deadLetters.send(letter)
    expect((await store.deadLetters.list({ search: 'econnrefused' })).letters).toEqual([letter])
    const kept = await server.node!.command('HGETALL', `{${prefix}}:letters:letter:${letter.id}`)
    expect(JSON.stringify(kept)).not.toContain('hush')
  })
})
