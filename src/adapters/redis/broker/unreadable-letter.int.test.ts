import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findRedis } from '../../../../test/services/redis.ts'
import { replayInConsumer } from '../../../../test/support/replay-in-consumer.ts'
import { createSealing } from '../../../runtime/sealing/sealing.ts'
import { TestTiming, uniqueName } from '../../../testing/conformance/harness.ts'
import { createFactory } from '../../../testing/factories.ts'
import { type RedisOptions, redisDeadLetters, redisStreams } from '../index.ts'

const redis = await findRedis()
const why = redis.found ? '' : ` (skipped: ${redis.why})`
const sealing = createSealing({ current: 'k1', keys: { k1: Buffer.alloc(32, 7) } })
const timing = new TestTiming({})
const make = createFactory({ clock: timing })
const closing: (() => unknown)[] = []
let given: RedisOptions

beforeAll(async () => {
  if (!redis.found) return
  const server = await redis.start()
  const client = createClient({ url: server.url })
  await client.connect()
  given = { client }
  closing.push(
    () => client.destroy(),
    () => server.close(),
  )
})
afterAll(async () => {
  for (const close of closing) await close()
})

/** A replay of a letter that Redis keeps, sealed with a key that the consumer lacks. */
async function unreadable(handle: () => void) {
  const channel = uniqueName('orders')
  const prefix = uniqueName('unreadable')
  const letters = redisDeadLetters({ ...given, prefix, codec: sealing })
  const letter = make.letter({ event: make.event({ channel }), channel })
  await letters.send(letter)
  await letters.change(letter.id, { to: 'replaying', at: timing.now(), replayId: 'r1' })
  const errors: unknown[] = []
  const broker = redisStreams({ ...given, prefix, maxPollMs: 100, onError: error => errors.push(error) })
  return { letters, letter, errors, ...(await replayInConsumer(broker, letter, { handle })) }
}

describe.runIf(redis.found)(`a replay whose letter only Redis keeps, and that cannot be read${why}`, () => {
  it('E10: is handled once', async () => {
    const shop = await unreadable(() => {})
    await timing.eventually(() => shop.runs() > 0, 'the replay is handled')
    await timing.eventually(async () => (await shop.depth()) === 0, 'the replay is done')
    await timing.quiet()
    expect(shop.runs()).toBe(1)
    expect(shop.problems).toMatchObject([{ name: 'UnreadableLetterError' }])
    expect(String(shop.problems)).toContain(shop.letter.id)
    expect(await shop.letters.get(shop.letter.id)).toMatchObject({ state: 'replaying' })
    await shop.consumer.close()
    await shop.letters.close()
  })

  it('E10: comes again after 5 s if it fails again', async () => {
    let isBroken = true
    const shop = await unreadable(() => {
      if (isBroken) throw new Error('still broken')
    })
    await timing.eventually(() => shop.consumer.health().settlementFailures > 0, 'it cannot be settled')
    expect(shop.runs()).toBe(1)
    expect(await shop.depth()).toBe(1)
    isBroken = false
    await timing.eventually(async () => (await shop.depth()) === 0, 'it is handled in the end')
    expect(shop.runs()).toBe(2)
    await shop.consumer.close()
    await shop.letters.close()
  }, 30_000)
})
