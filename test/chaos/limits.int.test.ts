import { afterEach, describe, expect, it } from 'vitest'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { findRedis, type RedisService } from '../services/redis.ts'
import { Fleet, mostInASecond, rateBetween, shares } from './limits/fleet.ts'

const redis = await findRedis()
const why = redis.found ? (redis.isPrivate ? '' : 'a given server is not stopped') : redis.why

const LIMIT = 100
const MEMBERS = 4
/**
 * Members that get no time from a busy machine use less than the limit, so here the limit is an upper bound. That it is used
 * in full is shown on a driven clock: src/runtime/shared-limit/*.test.ts.
 */
const LEAST = LIMIT / 10
/** A member that stands still for a moment writes its retries of that moment late, and so too many in the next one. */
const MOST = LIMIT * 1.25
const timing = new TestTiming({})

function expectWithinLimit(rate: number): void {
  expect(rate, 'retries a second').toBeLessThan(MOST)
  expect(rate, 'retries a second').toBeGreaterThan(LEAST)
}

function print(what: string, figures: object): void {
  process.stdout.write(`${what}: ${JSON.stringify(figures)}\n`)
}

describe.skipIf(why !== '')(`a fleet on one Redis ${why}`, () => {
  let server: RedisService | undefined
  let fleet: Fleet | undefined
  afterEach(async () => {
    server?.node?.thaw()
    await fleet?.end()
    await server?.close()
  })

  /** The server stores nothing on disk, so that a restart loses all its data. */
  const begin = async () => {
    if (!redis.found) throw new Error(redis.why)
    server = await redis.start({ appendonly: 'no' })
    const node = server.node!
    const members = new Fleet(server.url, LIMIT, MEMBERS)
    fleet = members
    const count = () => node.command('ZCARD', '{lazaret:limit:fleet}:retry:members')
    const isThere = async () => members.isRunning && members.isTogether && (await count()) === MEMBERS
    await timing.eventually(isThere, 'all members are there')
    await timing.pass(1_000)
    return { node, members }
  }

  it('E4: four processes share 100 retries a second, through a restart of the server', async () => {
    const { node, members } = await begin()
    const from = timing.now()
    await timing.pass(3_000)
    const killedAt = timing.now()
    await node.kill()
    await timing.eventually(() => members.isAlone, 'all notice that it is gone')
    await timing.pass(1_000)
    await node.start()
    await timing.eventually(() => members.isTogether, 'all have found it again')
    const backAt = timing.now()
    await timing.pass(3_000)
    const to = timing.now()
    const told = await members.end()
    const figures = {
      before: rateBetween(told, from, killedAt),
      across: rateBetween(told, killedAt - 1_000, backAt + 1_000),
      after: rateBetween(told, backAt, to),
      whole: rateBetween(told, from, to),
      mostInASecond: mostInASecond(told, from, to),
      shares: shares(told, from, killedAt),
      awayMs: backAt - killedAt,
    }
    print('retries a second, of four processes', figures)
    for (const rate of [figures.before, figures.across, figures.after, figures.whole]) expectWithinLimit(rate)
    expect(figures.mostInASecond).toBeLessThanOrEqual(LIMIT * 2)
    for (const share of figures.shares)
      expect(share).toBeGreaterThan(((LEAST / MEMBERS / 2) * (killedAt - from)) / 1_000)
  })

  it('E4: a server that is stopped for seconds counts as unreachable, and requests from that time use no extra turns', async () => {
    const { node, members } = await begin()
    const frozenAt = timing.now()
    node.freeze()
    await timing.eventually(() => members.isAlone, 'all notice that it does not answer')
    await timing.pass(3_000)
    node.thaw()
    await timing.eventually(() => members.isTogether, 'all hear from it again')
    const thawedAt = timing.now()
    await timing.pass(1_000)
    const told = await members.end()
    const rate = rateBetween(told, frozenAt, thawedAt + 1_000)
    print('retries a second while it was frozen', {
      rate,
      ms: thawedAt - frozenAt,
      most: mostInASecond(told, frozenAt, thawedAt + 1_000),
    })
    expectWithinLimit(rate)
  })
})
