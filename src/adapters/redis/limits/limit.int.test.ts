import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findRedis, type RedisService } from '../../../../test/services/redis.ts'
import { grantTurns, IDLE_BUCKET, type TurnRequest } from '../../../core/limit/fleet/bucket.ts'
import { LimitClosedError, type SharedLimit } from '../../../ports/shared-limit.ts'
import { type RedisLimitOptions, redisLimit } from './limit.ts'

const redis = await findRedis()
const why = redis.found ? '' : redis.why

const ask: TurnRequest = {
  perSecond: 100,
  burst: 1,
  want: 5,
  ahead: 5,
  longestWaitMs: 60_000,
  knownAheadMs: 0,
  isAlone: false,
}
const member = (id: string, ttlMs = 15_000) => ({ id, ttlMs })

describe.skipIf(why !== '')(`a limit in Redis ${why}`, () => {
  let server: RedisService
  const open: { close(): Promise<unknown> }[] = []
  beforeAll(async () => {
    server = redis.found ? await redis.start({ appendfsync: 'no' }) : (undefined as never)
  })
  afterAll(() => server?.close())
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close()
  })

  let made = 0
  /** A loaded machine may take longer than the second that a limit waits by default, and no test here is about that. */
  const limitOf = (options: Partial<RedisLimitOptions> = {}): SharedLimit => {
    const where = 'client' in options ? {} : { url: server.url }
    const name = `limit-${process.pid}-${made++}`
    const limit = redisLimit({ ...where, name, timeoutMs: 60_000, ...options })
    open.push(limit)
    return limit
  }

  it('E4: grants by the same rule as everybody else, whatever is asked', async () => {
    const asks: TurnRequest[] = [
      ask,
      { ...ask, want: 0 },
      { ...ask, burst: 50, want: 1_000, ahead: 3 },
      { ...ask, perSecond: 0.1, want: 3, ahead: 1 },
      { ...ask, perSecond: 0.1, want: 3, longestWaitMs: 5_000 },
      { ...ask, knownAheadMs: 2_000 },
      { ...ask, knownAheadMs: 2_000, longestWaitMs: 200 },
      { ...ask, want: 0, isAlone: true },
      { ...ask, want: 0, isAlone: true, knownAheadMs: 100 },
      { ...ask, perSecond: 333.3, burst: 7, want: 9, knownAheadMs: 1.5 },
    ]
    const limit = limitOf()
    for (const [at, asked] of asks.entries()) {
      const { members, ...granted } = await limit.reserve(`retry-${at}`, asked, member('a'))
      const { answer } = grantTurns(IDLE_BUCKET, asked, 0)
      expect(granted.granted).toBe(answer.granted)
      expect(granted.firstInMs).toBeCloseTo(answer.firstInMs, 6)
      expect(granted.aheadMs).toBeCloseTo(answer.aheadMs, 6)
      expect(members).toBe(1)
    }
  })

  it('E4: of many who ask at once each gets turns of its own, one behind the other', async () => {
    const limit = limitOf()
    const slow = { ...ask, perSecond: 0.1, ahead: 2, want: 2, longestWaitMs: 1_000_000 }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => limit.reserve('retry', slow, member(`m${n}`))),
    )
    const turns = answers.flatMap(({ granted, firstInMs }) =>
      Array.from({ length: granted }, (_, k) => Math.round((firstInMs + k * 10_000) / 10_000)),
    )
    expect(turns.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, k) => k))
    expect(answers.at(-1)?.members).toBe(20)
  })

  it('E4: the bucket drains by the clock of the server, and disappears with its members', async () => {
    const name = `expiring-${process.pid}`
    const limit = limitOf({ name })
    const first = await limit.reserve('retry', { ...ask, want: 20, ahead: 20 }, member('a', 1_000))
    expect(first).toMatchObject({ granted: 20, aheadMs: 200 })
    const second = await limit.reserve('retry', { ...ask, want: 0 }, member('a', 1_000))
    expect(second.aheadMs).toBeLessThan(200)
    const ttl = async (key: string) => Number(await command('PTTL', `{lazaret:limit:${name}}:${key}`))
    expect(await ttl('retry')).toBeGreaterThan(1_000)
    expect(await ttl('retry')).toBeLessThanOrEqual(60_200)
    expect(await ttl('retry:members')).toBeLessThanOrEqual(1_000)
    await limit.leave('retry', 'a')
    expect(await command('EXISTS', `{lazaret:limit:${name}}:retry:members`)).toBe(0)
  })

  it('E4: limits of other names and parts do not know of each other', async () => {
    const limit = limitOf()
    await limit.reserve('retry', { ...ask, want: 50, ahead: 50 }, member('a'))
    for (const part of ['rate', 'retry:loki'])
      expect(await limit.reserve(part, ask, member('a'))).toMatchObject({ firstInMs: 0, members: 1 })
    expect(await limitOf().reserve('retry', ask, member('a'))).toMatchObject({ firstInMs: 0 })
  })

  it('E4: a URL that names a prefix keeps its limits apart from others', async () => {
    const name = `placed-${process.pid}`
    await limitOf({ name, url: `${server.url}?prefix=shop` }).reserve('retry', ask, member('a'))
    expect(await command('EXISTS', `{shop:limit:${name}}:retry`)).toBe(1)
    expect(await limitOf({ name }).reserve('retry', ask, member('b'))).toMatchObject({ members: 1 })
  })

  it("E4: works over the caller's own client, which stays open", async () => {
    const client = createClient({ url: server.url })
    client.on('error', () => {})
    await client.connect()
    const limit = limitOf({ client })
    expect(await limit.reserve('retry', ask, member('a'))).toMatchObject({ granted: 5 })
    await limit.close()
    await limit.close()
    expect(limit.closing.aborted).toBe(true)
    await expect(limit.reserve('retry', ask, member('a'))).rejects.toBeInstanceOf(LimitClosedError)
    expect(await client.ping()).toBe('PONG')
    client.destroy()
  })

  it('E4: options name what is wrong', () => {
    expect(() => redisLimit({ url: 'redis://x' } as never)).toThrow(/redisLimit\.name/)
    expect(() => redisLimit({ name: 'x' })).toThrow(/neither url nor client/)
    expect(() => redisLimit({ name: 'x', url: 'redis://x', assumedMembers: 0 })).toThrow(/assumedMembers/)
  })

  const command = async (...args: string[]): Promise<unknown> => {
    const client = createClient({ url: server.url })
    client.on('error', () => {})
    await client.connect()
    try {
      return await client.sendCommand(args)
    } finally {
      client.destroy()
    }
  }
})
