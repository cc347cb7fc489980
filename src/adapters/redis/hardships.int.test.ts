import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { findRedis, type RedisService } from '../../../test/services/redis.ts'
import type { RedisConfig, RedisNode } from '../../../test/services/redis-node.ts'
import { faultsOf } from '../../../test/support/redis-letters.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { systemClock } from '../../ports/clock.ts'
import { DeadLettersFullError } from '../../ports/dead-letters.ts'
import { LetterSaver } from '../../runtime/letter-saver.ts'
import { TestTiming } from '../../testing/conformance/harness.ts'
import { createFactory } from '../../testing/factories.ts'
import { fileSpill } from '../file/index.ts'
import { openRedis, RedisError, type RedisOptions, type RedisStore, redisLimit } from './index.ts'

const redis = await findRedis()
const why = !redis.found ? redis.why : redis.isPrivate ? '' : 'a given server is not stopped'
const timing = new TestTiming({})
const make = createFactory({ clock: systemClock })
const PREFIX = 'hard'
/** It reads a key in 10 ms and answers in between, until a test sets the delay to 0: so loading outlasts any busy machine. */
const LOADING_SLOWLY: RedisConfig = {
  'key-load-delay': '10000',
  'loading-process-events-interval-bytes': '1024',
  appendonly: 'no',
  save: '3600 1',
}
const TURN = {
  perSecond: 100,
  burst: 1,
  want: 1,
  ahead: 1,
  longestWaitMs: 1_000,
  knownAheadMs: 0,
  isAlone: false,
}

describe.skipIf(why !== '')(`letters on a Redis that has a hard time ${why}`, () => {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  async function start(config: RedisConfig = {}): Promise<{ server: RedisService; node: RedisNode }> {
    const server = await (redis.found ? redis.start(config) : (undefined as never))
    closing.push(() => server.close())
    return { server, node: server.node! }
  }
  function open({ url }: RedisService, options: Partial<RedisOptions> = {}): RedisStore {
    const store = openRedis({ url, prefix: PREFIX, reconnectMaxMs: 100, ...options })
    closing.push(() => store.close())
    return store
  }

  /** Sends without a pause, several at a time, until told to end; answers what was acknowledged. */
  function sendAlong({ deadLetters }: RedisStore) {
    const acknowledged: DeadLetter[] = []
    const refused: unknown[] = []
    let isOver = false
    const sender = async () => {
      while (!isOver) {
        const letter = make.letter()
        await deadLetters.send(letter).then(
          () => acknowledged.push(letter),
          (error: unknown) => refused.push(error),
        )
      }
    }
    const senders = Promise.all(Array.from({ length: 8 }, sender))
    const until = (count: number) =>
      timing.eventually(() => acknowledged.length >= count, `${count} are acknowledged`)
    const end = async () => {
      isOver = true
      await senders
      return { acknowledged, refused }
    }
    return { acknowledged, until, end }
  }

  async function missing({ deadLetters }: RedisStore, letters: readonly DeadLetter[]): Promise<string[]> {
    const found = await Promise.all(letters.map(({ id }) => deadLetters.get(id)))
    return letters.filter((_, at) => found[at] === undefined).map(({ id }) => id)
  }

  // With everysec Redis acknowledges before it writes while an fsync is under way, so that a kill loses letters.
  it('K10: killed again and again with appendfsync always, it has every letter that it acknowledged, and no half one', async () => {
    const { server, node } = await start({ appendfsync: 'always' })
    const store = open(server, { timeoutMs: 20_000 })
    const sending = sendAlong(store)
    for (let kills = 0; kills < 4; kills++) {
      await sending.until(sending.acknowledged.length + 200)
      await node.kill()
      await node.start()
    }
    const { acknowledged, refused } = await sending.end()
    // What was in flight went again on the next connection: no caller was told of any of the four.
    expect(refused).toEqual([])
    expect(acknowledged.length).toBeGreaterThan(800)
    expect(await missing(store, acknowledged)).toEqual([])
    expect((await store.deadLetters.stats()).count).toBe(acknowledged.length)
    expect(await faultsOf(server.url, PREFIX)).toEqual([])
  })

  it('K10: while it reads its data after a start, calls wait for it; one that has no time is told', async () => {
    // 300 letters take half a minute, so that a call meets the loading also when the server starts slowly.
    const { server, node } = await start({ ...LOADING_SLOWLY, 'key-load-delay': '100000' })
    const store = open(server, { timeoutMs: 60_000 })
    await Promise.all(Array.from({ length: 300 }, () => store.deadLetters.send(make.letter())))
    await node.command('SAVE')
    await node.kill()
    const starting = node.start()
    const loading = open(server, { timeoutMs: 2_000 })
    const isLoading = async () =>
      (await loading.deadLetters.stats().catch(error => error)).message?.includes('LOADING') === true
    await timing.eventually(isLoading, 'a call has met a server that reads its data')
    const stats = store.deadLetters.stats()
    await node.command('CONFIG', 'SET', 'key-load-delay', '0')
    expect((await stats).count).toBe(300)
    await starting
  })

  it('E4: while it reads its data a limit is told so, and its members go on alone', async () => {
    const { server, node } = await start(LOADING_SLOWLY)
    await node.command('MSET', ...Array.from({ length: 600 }, (_, n) => `key-${n}`))
    await node.command('SAVE')
    await node.kill()
    const starting = node.start()
    const limit = redisLimit({ url: server.url, name: 'retries', timeoutMs: 20_000 })
    closing.push(() => limit.close())
    const isTold = async () => {
      const refusal = await limit.reserve('retry', TURN, { id: 'a', ttlMs: 1_000 }).catch(error => error)
      return refusal instanceof RedisError && refusal.reply === 'LOADING'
    }
    await timing.eventually(isTold, 'it is told that the server reads its data')
    await node.command('CONFIG', 'SET', 'key-load-delay', '0')
    await starting
  })

  it('K10: without a log on the disk a killed server has lost what it acknowledged, which `doctor` says', async () => {
    const { server, node } = await start({ appendonly: 'no' })
    const store = open(server)
    const letter = make.letter()
    await store.deadLetters.send(letter)
    await node.kill()
    await node.start()
    expect(await missing(store, [letter])).toEqual([letter.id])
    expect(await store.inspect()).toMatchObject({ appendOnly: false, snapshots: '' })
  })

  it('B7: frozen, it is given up on in time; when it thaws, what it has done late is done once', async () => {
    const { server, node } = await start()
    const store = open(server, { timeoutMs: 200 })
    await store.ready()
    const letters = Array.from({ length: 20 }, () => make.letter())
    node.freeze()
    const outcomes = await Promise.allSettled(letters.map(letter => store.deadLetters.send(letter)))
    node.thaw()
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ reason: { code: 'LAZARET_STORE_FAILED', retryable: true } })
    const sendAgain = async () =>
      (await Promise.allSettled(letters.map(each => store.deadLetters.send(each)))).every(
        ({ status }) => status === 'fulfilled',
      )
    await timing.eventually(sendAgain, 'they are taken')
    expect((await store.deadLetters.list()).letters).toHaveLength(20)
    expect((await store.deadLetters.get(letters[0]!.id))?.cycle).toEqual(letters[0]!.cycle)
    expect(await faultsOf(server.url, PREFIX)).toEqual([])
  })

  it('P1: filled to maxmemory it refuses letters as full, keeps those it has, and can still be managed', async () => {
    const { server, node } = await start()
    const store = open(server)
    const { usedBytes } = await store.inspect()
    await node.command('CONFIG', 'SET', 'maxmemory', String(usedBytes + 1_500_000))
    const acknowledged: DeadLetter[] = []
    const fill = async (): Promise<unknown> => {
      for (;;) {
        const batch = Array.from({ length: 20 }, () => make.letter())
        const outcomes = await Promise.allSettled(batch.map(letter => store.deadLetters.send(letter)))
        acknowledged.push(...batch.filter((_, at) => outcomes[at]!.status === 'fulfilled'))
        const refused = outcomes.find(outcome => outcome.status === 'rejected')
        if (refused !== undefined) return refused.reason
      }
    }
    const refusal = await fill()
    expect(refusal).toBeInstanceOf(DeadLettersFullError)
    expect((refusal as Error).message).toMatch(/the server is out of memory; raise maxmemory, or discard/)
    expect(acknowledged.length).toBeGreaterThan(50)
    expect(await missing(store, acknowledged)).toEqual([])
    expect((await store.deadLetters.stats()).count).toBe(acknowledged.length)
    expect((await store.groups.list()).groups[0]?.count).toBe(acknowledged.length)
    // Deciding about letters needs no room, and deleting makes some. The server needs a part of it for its scripts and buffers.
    const at = systemClock.now()
    const [first, ...rest] = acknowledged
    expect((await store.deadLetters.change(first!.id, { to: 'discarded', at }))?.state).toBe('discarded')
    for (const letter of rest.slice(0, 150)) expect(await store.deadLetters.delete(letter.id)).toBe(true)
    // Its buffers become smaller from time to time.
    const send = () =>
      store.deadLetters.send(make.letter()).then(
        () => true,
        () => false,
      )
    await timing.eventually(send, 'it takes a letter again')
    expect(await faultsOf(server.url, PREFIX)).toEqual([])
  })

  it('B7: what a full server refuses waits in the spill, and goes there when there is room', async () => {
    const { server, node } = await start()
    const { deadLetters } = open(server)
    const dir = await mkdtemp(join(tmpdir(), 'lazaret-spill-'))
    const spill = fileSpill({ dir })
    closing.push(
      () => rm(dir, { recursive: true }),
      () => spill.close(),
    )
    const saver = new LetterSaver({ deadLetters, spill, observer: {}, clock: systemClock })
    await node.command('CONFIG', 'SET', 'maxmemory', '1')
    const letters = [make.letter(), make.letter()]
    for (const letter of letters) expect(await saver.save(letter)).toBe('spilled')
    expect([await spill.size(), (await deadLetters.stats()).count]).toEqual([2, 0])
    await node.command('CONFIG', 'SET', 'maxmemory', '0')
    await saver.close()
    expect([await spill.size(), (await deadLetters.stats()).count]).toEqual([0, 2])
  })

  it('S8: a completed key stays completed when the server is killed, and a lease is held over its restart', async () => {
    const { server, node } = await start()
    const { ledger } = open(server, { timeoutMs: 20_000 })
    const done = await ledger.claim('bill', 'charge-1', 60_000)
    expect(done.kind === 'claimed' && (await ledger.complete('bill', 'charge-1', done.token))).toBe(true)
    const held = await ledger.claim('bill', 'charge-2', 60_000)
    await node.kill()
    const during = held.kind === 'claimed' && ledger.complete('bill', 'charge-2', held.token)
    await node.start()
    expect(await during).toBe(true)
    expect((await ledger.claim('bill', 'charge-1', 1)).kind).toBe('done')
    expect((await ledger.claim('bill', 'charge-2', 1)).kind).toBe('done')
  })
})
