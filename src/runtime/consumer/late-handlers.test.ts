import { describe, expect, it } from 'vitest'
import { consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { memoryDeadLetters, memoryLedger } from '../../adapters/memory/index.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { fixed } from '../../core/retry/fixed.ts'
import type { LetterChange } from '../../ports/dead-letters.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { sleep } from '../sleep.ts'

const quick = { attempts: 4, backoff: fixed({ delayMs: 10, jitter: 'none' }) } as const

/** A handler that ignores its signal, and what it was seen to do. */
function stubborn(clock: FakeClock, take: (run: number) => Promise<unknown>) {
  const seen = { runs: 0, effects: 0, atOnce: 0, most: 0 }
  const handle = async () => {
    const run = ++seen.runs
    seen.most = Math.max(seen.most, ++seen.atOnce)
    try {
      await take(run)
      seen.effects++
    } finally {
      seen.atOnce--
    }
  }
  return { seen, handle, clock }
}

describe.each([
  ['without a ledger', false],
  ['with a ledger', true],
])('a handler that outlives its timeout, %s', (_, hasLedger) => {
  function setUp(take: (run: number, clock: FakeClock) => Promise<unknown>, options = {}) {
    const clock = new FakeClock()
    const { seen, handle } = stubborn(clock, run => take(run, clock))
    const ledger = memoryLedger({ clock, random: seededRandom(3) })
    const here = world({
      clock,
      handle,
      timeoutMs: 200,
      retry: quick,
      breaker: 'off',
      ...(hasLedger ? { ledger } : {}),
      ...options,
    })
    return { ...here, seen, ledger }
  }

  it('B15: and succeeds: one effect, done, no letter', async () => {
    const { consumer, publish, clock, seen, letters, recorder } = setUp((_, clock) => sleep(clock, 300))
    await consumer.start()
    await publish('x')
    await clock.advance(250)
    expect(consumer.health()).toMatchObject({ late: 1, active: 1 })
    await clock.advance(60_000)
    expect(seen).toMatchObject({ runs: 1, effects: 1, most: 1 })
    expect(await letters()).toEqual([])
    expect(recorder.of('eventProcessed')).toMatchObject([{ outcome: 'done' }])
    expect(recorder.of('attemptFailed')).toMatchObject([{ failure: { code: 'LAZARET_TIMEOUT' } }])
    expect(recorder.of('lateRun')).toMatchObject([{ state: 'succeeded', attempt: 1, durationMs: 300 }])
    expect(consumer.health()).toMatchObject({ late: 0, active: 0 })
    await consumer.close()
  })

  it('B15: at the last attempt, and succeeds before its letter is due: no letter', async () => {
    const { consumer, publish, clock, seen, letters } = setUp((_, clock) => sleep(clock, 300), {
      retry: { attempts: 1 },
    })
    await consumer.start()
    await publish('x')
    await clock.advance(60_000)
    expect(seen).toMatchObject({ runs: 1, effects: 1 })
    expect(await letters()).toEqual([])
    await consumer.close()
  })

  it('B15: and fails: the next attempt starts when it has ended, as after any timeout', async () => {
    const { consumer, publish, clock, seen, letters, recorder } = setUp(async (run, clock) => {
      if (run > 2) return
      await sleep(clock, 300)
      throw new Error('too late')
    })
    await consumer.start()
    await publish('x')
    await clock.advance(60_000)
    expect(seen).toMatchObject({ runs: 3, effects: 1, most: 1 })
    expect(await letters()).toEqual([])
    expect(recorder.of('attemptFailed').map(({ failure }) => failure.code)).toEqual([
      'LAZARET_TIMEOUT',
      'LAZARET_TIMEOUT',
    ])
    await consumer.close()
  })

  it('B15: beyond its extra time, and succeeds: the retry is done without a run', async () => {
    const { consumer, publish, clock, seen, letters, recorder } = setUp((_, clock) => sleep(clock, 1_500), {
      concurrency: 1,
      retry: { attempts: 4, backoff: fixed({ delayMs: 5_000, jitter: 'none' }) },
    })
    await consumer.start()
    await publish('x')
    await clock.advance(1_300)
    expect(consumer.health()).toMatchObject({ late: 1, active: 0 })
    await clock.advance(60_000)
    expect(seen).toMatchObject({ runs: 1, effects: 1, most: 1 })
    expect(await letters()).toEqual([])
    expect(recorder.of('lateRun').map(({ state }) => state)).toEqual(['running', 'succeeded'])
    const outcomes = recorder.of('eventProcessed').map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['retried', 'done'])
    expect(consumer.health().late).toBe(0)
    await consumer.close()
  })

  it('B15: beyond its extra time, and fails: the waiting retry starts when it has ended', async () => {
    const { consumer, publish, clock, seen, letters } = setUp(async (run, clock) => {
      if (run > 1) return
      await sleep(clock, 1_500)
      throw new Error('too late')
    })
    await consumer.start()
    await publish('x')
    await clock.advance(60_000)
    expect(seen).toMatchObject({ runs: 2, effects: 1, most: 1 })
    expect(await letters()).toEqual([])
    await consumer.close()
  })

  it('B15: and never ends: its place is freed, others are handled, and its event becomes a letter', async () => {
    const { consumer, publish, clock, seen, letters, recorder } = setUp(
      run => (run === 1 ? new Promise(() => {}) : Promise.resolve()),
      { concurrency: 1 },
    )
    await consumer.start()
    await publish('x', 'y', 'z')
    await clock.advance(60_000)
    expect(seen).toMatchObject({ runs: 3, effects: 2, atOnce: 1 })
    expect(await letters()).toMatchObject([
      { state: 'dead', cycle: { reason: 'still_running', attemptCount: 1, category: 'transient' } },
    ])
    expect(consumer.health()).toMatchObject({ late: 1, active: 0, waiting: 0 })
    expect(recorder.of('lateRun').map(({ state }) => state)).toEqual(['running'])
    const started = clock.now()
    const closed = consumer.close({ graceMs: 1_000 })
    await clock.advance(1_200)
    await closed
    expect(clock.now() - started).toBeLessThanOrEqual(1_200)
  })

  it('B15: and succeeds after its letter is saved: the letter is resolved', async () => {
    const { consumer, publish, clock, seen, letters } = setUp((_, clock) => sleep(clock, 5_000), {
      retry: { attempts: 1 },
    })
    await consumer.start()
    await publish('x')
    await clock.advance(2_000)
    expect(await letters()).toMatchObject([{ state: 'dead' }])
    await clock.advance(10_000)
    expect(seen).toMatchObject({ runs: 1, effects: 1 })
    expect(await letters()).toMatchObject([{ state: 'resolved' }])
    await consumer.close()
  })

  it('B15: and its event is replayed while its success is being written down: the replay waits for that', async () => {
    const deadLetters = memoryDeadLetters()
    const written = Promise.withResolvers<void>()
    const slow = {
      send: (letter: DeadLetter) => deadLetters.send(letter),
      change: (id: string, change: LetterChange) =>
        written.promise.then(() => deadLetters.change(id, change)),
      close: async () => {},
    }
    const { consumer, publish, clock, seen, recorder } = setUp(
      (run, clock) => sleep(clock, run === 1 ? 5_000 : 0),
      {
        retry: { attempts: 1 },
        deadLetters: slow,
      },
    )
    const event = { payload: 'x', id: '01890000-0000-7000-8000-000000000001' }
    const headers = { 'x-original-id': event.id, 'x-replay-attempt': '1', 'x-replay-id': 'r1' }
    await consumer.start()
    await publish(event)
    await clock.advance(5_100)
    await publish({ ...event, headers })
    await clock.advance(100)
    expect(seen.runs).toBe(1)
    expect(recorder.of('settlementFailed')).toEqual([])
    written.resolve()
    await clock.advance(60_000)
    expect(seen).toMatchObject({ runs: hasLedger ? 1 : 2, most: 1 })
    expect(consumer.health()).toMatchObject({ late: 0, active: 0, waiting: 0 })
    await consumer.close()
  })

  it('B15: and is delivered again meanwhile: the second delivery waits for the end of the first run', async () => {
    const { consumer, clock, seen, letters, recorder, publish } = setUp((_, clock) => sleep(clock, 150))
    const event = { payload: 'x', id: '01890000-0000-7000-8000-000000000001' }
    await consumer.start()
    await publish(event, event, event)
    await clock.advance(100)
    expect(seen).toMatchObject({ runs: 1, atOnce: 1 })
    await clock.advance(60_000)
    expect(seen).toMatchObject({ runs: hasLedger ? 1 : 3, most: 1 })
    const outcomes = recorder.of('eventProcessed').map(({ outcome }) => outcome)
    expect(outcomes).toEqual(hasLedger ? ['done', 'skipped', 'skipped'] : ['done', 'done', 'done'])
    expect(await letters()).toEqual([])
    await consumer.close()
  })
})

it('B15: a run that ends after the consumer has closed uses neither its ledger nor its store', async () => {
  const clock = new FakeClock()
  const ledger = memoryLedger({ clock, random: seededRandom(3) })
  const handle = () => sleep(clock, 20_000)
  const retry = { attempts: 1 }
  const here = world({ clock, handle, timeoutMs: 200, retry, breaker: 'off', ledger })
  const { consumer, publish, letters, deadLetters } = here
  const used: string[] = []
  const change = deadLetters.change.bind(deadLetters)
  deadLetters.change = async (...given) => {
    used.push('change')
    return change(...given)
  }
  await consumer.start()
  await publish('x')
  await clock.advance(5_000)
  expect(await letters()).toMatchObject([{ state: 'dead' }])
  const closed = consumer.close({ graceMs: 0 })
  await clock.advance(1_000)
  await closed
  for (const name of ['complete', 'release', 'renew'] as const) ledger[name] = async () => used.push(name) > 0
  await clock.advance(60_000)
  expect(used).toEqual([])
  expect(consumer.health().late).toBe(0)
})

describe('the claim of a handler that outlives its timeout', () => {
  function setUp(take: (run: number, clock: FakeClock) => Promise<unknown>, options = {}) {
    const clock = new FakeClock()
    const { seen, handle } = stubborn(clock, run => take(run, clock))
    const ledger = memoryLedger({ clock, random: seededRandom(3) })
    const here = world({
      clock,
      handle,
      timeoutMs: 200,
      leaseMs: 1_000,
      retry: quick,
      breaker: 'off',
      ledger,
      ...options,
    })
    return { ...here, seen, ledger }
  }

  it('B15: is renewed while it runs, and completed when it succeeds', async () => {
    const { consumer, publish, clock, ledger } = setUp((_, clock) => sleep(clock, 10_000))
    await consumer.start()
    await publish({ payload: 'x', idempotencyKey: 'k' })
    for (let waited = 0; waited < 9_000; waited += 250) {
      await clock.advance(250)
      expect(await ledger.claim('orders', 'k', 1_000)).toMatchObject({ kind: 'busy' })
    }
    await clock.advance(2_000)
    expect(await ledger.claim('orders', 'k', 1_000)).toMatchObject({ kind: 'done' })
    await consumer.close()
  })

  it('B15: is left to its lease when the consumer closes, and closing does not wait for the handler', async () => {
    const { consumer, publish, clock, ledger } = setUp(() => new Promise(() => {}))
    await consumer.start()
    await publish({ payload: 'x', idempotencyKey: 'k' })
    await clock.advance(300)
    const closed = consumer.close({ graceMs: 500 })
    await clock.advance(700)
    await closed
    expect(await ledger.claim('orders', 'k', 1_000)).toMatchObject({ kind: 'busy' })
    await clock.advance(1_001)
    expect(await ledger.claim('orders', 'k', 1_000)).toMatchObject({ kind: 'claimed' })
  })

  it('B15: is completed when a handler that has lost its place succeeds within the grace time', async () => {
    const { consumer, publish, clock, ledger } = setUp((_, clock) => sleep(clock, 1_300), { lateMs: 500 })
    await consumer.start()
    await publish({ payload: 'x', idempotencyKey: 'k' })
    await clock.advance(1_000)
    const closed = consumer.close({ graceMs: 500 })
    await clock.advance(500)
    await closed
    expect(await ledger.claim('orders', 'k', 1_000)).toMatchObject({ kind: 'done' })
  })

  it('B15: is left to its lease when a handler that has lost its place outlives the grace time', async () => {
    const { consumer, publish, clock, ledger } = setUp((_, clock) => sleep(clock, 9_000), { lateMs: 500 })
    await consumer.start()
    await publish({ payload: 'x', idempotencyKey: 'k' })
    await clock.advance(1_000)
    let isClosed = false
    void consumer.close({ graceMs: 500 }).then(() => {
      isClosed = true
    })
    await clock.advance(499)
    expect(isClosed).toBe(false)
    await clock.advance(1)
    expect(isClosed).toBe(true)
    expect(await ledger.claim('orders', 'k', 1_000)).toMatchObject({ kind: 'busy' })
  })

  it('B15: is released when the handler ends because the consumer closes', async () => {
    const clock = new FakeClock()
    const ledger = memoryLedger({ clock, random: seededRandom(3) })
    const { consumer, publish } = world({
      clock,
      ledger,
      handle: (_, { signal }) => sleep(clock, 1_000_000, signal),
    })
    await consumer.start()
    await publish({ payload: 'x', idempotencyKey: 'k' })
    await clock.advance(0)
    const closed = consumer.close({ graceMs: 0 })
    await clock.advance(0)
    await closed
    expect(await ledger.claim('orders', 'k', 1_000)).toMatchObject({ kind: 'claimed' })
  })

  it('B15: is left alone when another process has taken it; the success settles the event', async () => {
    const { consumer, publish, clock, ledger, recorder } = setUp((_, clock) => sleep(clock, 1_100))
    await consumer.start()
    await publish({ payload: 'x', idempotencyKey: 'k' })
    await clock.advance(300)
    const renew = ledger.renew.bind(ledger)
    ledger.renew = async () => false
    const claim = ledger.claim.bind(ledger)
    ledger.claim = async () => ({ kind: 'busy', until: clock.now() + 5_000 })
    const complete: unknown[] = []
    ledger.complete = async (...given) => {
      complete.push(given)
      return true
    }
    await clock.advance(900)
    expect(recorder.of('claimLost')).toMatchObject([{ channel: 'orders', name: 'orders' }])
    expect(complete).toEqual([])
    expect(recorder.of('eventProcessed')).toMatchObject([{ outcome: 'done' }])
    Object.assign(ledger, { renew, claim })
    await consumer.close()
  })

  it('S8: recorded as done by the transaction of its handler, is neither lost nor renewed', async () => {
    const { consumer, publish, clock, ledger, recorder, handled, letters } = setUp(async (_, clock) =>
      sleep(clock, 900),
    )
    await consumer.start()
    await publish({ payload: 'x', idempotencyKey: 'k' })
    await clock.advance(100)
    ledger.renew = async () => false
    ledger.claim = async () => ({ kind: 'done', at: clock.now() })
    await clock.advance(10_000)
    expect(recorder.count('claimLost')).toBe(0)
    expect(recorder.of('eventProcessed')).toMatchObject([{ outcome: 'done' }])
    expect([handled, await letters()]).toEqual([[], []])
    await consumer.close()
  })
})
