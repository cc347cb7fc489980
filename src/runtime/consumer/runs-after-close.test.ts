import { describe, expect, it } from 'vitest'
import { consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { memoryLedger } from '../../adapters/memory/index.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'

const retry = { attempts: 3, backoff: fixed({ delayMs: 100, jitter: 'none' }) } as const

/** Two consumers of one process on one broker, one after the other. Their handler ignores its signal. */
function setUp({ hasLedger = false, timeoutMs = 5_000, lateMs = 1_000 } = {}) {
  const clock = new FakeClock()
  const end = Promise.withResolvers<void>()
  const seen = { runs: [] as string[], atOnce: 0, most: 0 }
  const ledger = memoryLedger({ clock, random: seededRandom(3) })
  const taking = (name: string) => async () => {
    seen.runs.push(name)
    seen.most = Math.max(seen.most, ++seen.atOnce)
    await (name === 'first' ? end.promise : undefined)
    seen.atOnce--
  }
  const shared = {
    clock,
    timeoutMs,
    lateMs,
    retry,
    breaker: 'off',
    ...(hasLedger ? { ledger } : {}),
  } as const
  const first = world({ ...shared, handle: taking('first') })
  const { broker, deadLetters } = first
  const second = world({ ...shared, broker, deadLetters, handle: taking('second') })
  /** Both are there, the first one has the event, and closes in the middle of it. */
  const closeTheFirst = async (runningMs = 0) => {
    await first.consumer.start()
    await first.publish({ id: 'a', payload: 'x', idempotencyKey: 'k' })
    await clock.advance(runningMs)
    expect(seen.runs).toEqual(['first'])
    await second.consumer.start()
    const closed = first.consumer.close({ graceMs: 0 })
    await clock.advance(200)
    await closed
  }
  return { first, second, clock, end, seen, ledger, closeTheFirst }
}

describe.each([
  ['that has time left', 0],
  ['that has outlived its timeout', 5_500],
  ['that has lost its place', 6_500],
])('a run %s when its consumer closes', (_, runningMs) => {
  it('B15: is waited for by the next consumer of the process, and by failing lets it start', async () => {
    const { second, clock, end, seen, closeTheFirst } = setUp()
    await closeTheFirst(runningMs)
    await clock.advance(1_000)
    expect(seen.runs).toEqual(['first'])
    end.reject(new Error('ended'))
    await clock.advance(1_000)
    expect(seen).toMatchObject({ runs: ['first', 'second'] })
    expect(second.consumer.health().late).toBe(0)
    await second.consumer.close()
  })

  it('B15: by succeeding late handles the event, which is not run again', async () => {
    const { second, clock, end, seen, closeTheFirst } = setUp()
    await closeTheFirst(runningMs)
    end.resolve()
    await clock.advance(60_000)
    expect(seen).toMatchObject({ runs: ['first'], most: 1 })
    expect(second.recorder.of('eventProcessed')).toMatchObject([{ outcome: 'done' }])
    await second.consumer.close()
  })

  it('B15: by succeeding late completes its claim in a ledger that is still open', async () => {
    const { second, clock, end, seen, ledger, closeTheFirst } = setUp({ hasLedger: true })
    await closeTheFirst(runningMs)
    end.resolve()
    await clock.advance(0)
    expect(await ledger.claim('orders', 'k', 1_000)).toMatchObject({ kind: 'done' })
    await clock.advance(60_000)
    expect(seen.runs).toEqual(['first'])
    await second.consumer.close()
  })

  it('B15: is shown while it goes on, and its end is told', async () => {
    const { first, second, clock, end, closeTheFirst } = setUp()
    await closeTheFirst(runningMs)
    expect(first.consumer.health().late).toBe(1)
    expect(second.consumer.health().late).toBe(1)
    expect(first.recorder.of('lateRun')).toMatchObject([{ eventId: 'a', state: 'running' }])
    end.resolve()
    await clock.advance(1_000)
    expect(first.recorder.of('lateRun')).toMatchObject([{ state: 'running' }, { state: 'succeeded' }])
    expect(second.consumer.health().late).toBe(0)
    await second.consumer.close()
  })

  it('B15: that never ends makes its event a letter, and a late success resolves that', async () => {
    const { second, clock, end, seen, closeTheFirst, first } = setUp()
    await closeTheFirst(runningMs)
    await clock.advance(60_000)
    expect(await first.letters()).toMatchObject([{ state: 'dead', cycle: { reason: 'still_running' } }])
    expect(second.consumer.health()).toMatchObject({ late: 1, active: 0, waiting: 0 })
    end.resolve()
    await clock.advance(1_000)
    expect(await first.letters()).toMatchObject([{ state: 'resolved' }])
    expect(seen.runs).toEqual(['first'])
    await second.consumer.close()
  })
})

it('B15: of a handler that ends because its consumer closes, nothing is told and nothing is left', async () => {
  const { consumer, publish, clock, recorder } = world({
    handle: (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  await consumer.start()
  await publish('x')
  await clock.advance(0)
  const closed = consumer.close({ graceMs: 0 })
  await clock.advance(0)
  await closed
  expect(recorder.of('lateRun')).toEqual([])
  expect(consumer.health().late).toBe(0)
})
