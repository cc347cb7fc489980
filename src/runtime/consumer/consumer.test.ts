import { describe, expect, it } from 'vitest'
import { refused, consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { memoryLedger } from '../../adapters/memory/index.ts'
import { PermanentError, TransientError } from '../../core/failure/signals.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { ledgerName } from '../../ports/ledger.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { asJob, trackingScope } from '../dispatcher/track/tracking-mode.ts'
import { sleep } from '../sleep.ts'

describe('a consumer handles', () => {
  it('F1: what is published, once each', async () => {
    const { consumer, publish, handled, clock, recorder } = world()
    await publish('a', 'b')
    await consumer.start()
    await publish('c')
    await clock.advance(0)
    expect(handled).toEqual(['a', 'b', 'c'])
    expect(recorder.of('eventProcessed').map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done'])
    await consumer.close()
  })

  it('E7: outside the async scope of the publisher and of the code that started it', async () => {
    const jobs: (string | undefined)[] = []
    const { consumer, publish, clock } = world({
      handle: async () => void jobs.push(trackingScope().job),
    })
    await asJob('Boot', () => publish('a'))
    await asJob('Boot', () => consumer.start())
    await asJob('Nightly', () => publish('b', 'c'))
    await clock.advance(0)
    expect(jobs).toEqual([undefined, undefined, undefined])
    await consumer.close()
  })

  it('F1: retries with the waits of its policy, in the broker and not in a slot', async () => {
    const startedAt: number[] = []
    const { consumer, publish, clock, handled } = world({
      concurrency: 1,
      prefetch: 1,
      retry: { attempts: 3, backoff: fixed({ delayMs: 5_000, jitter: 'none' }) },
      handle: async event => {
        if (event.payload === 'bad') {
          startedAt.push(clock.now())
          if (startedAt.length < 3) throw refused()
        }
        handled.push(String(event.payload))
      },
    })
    await consumer.start()
    await publish('bad', 'good')
    await clock.advance(0)
    expect(handled).toEqual(['good'])
    await clock.advance(10_000)
    expect(handled).toEqual(['good', 'bad'])
    expect(startedAt.map(at => at - startedAt[0]!)).toEqual([0, 5_000, 10_000])
    await consumer.close()
  })

  it('P2: gives up into a letter with its whole history', async () => {
    const { consumer, publish, clock, letters, recorder } = world({
      retry: { attempts: 3, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
      handle: async () => {
        throw refused()
      },
    })
    await consumer.start()
    await publish({ payload: { order: 1 }, headers: { tenant: 't1' } })
    await clock.advance(5_000)
    const [letter] = await letters()
    expect(letter).toMatchObject({
      channel: 'orders',
      handler: 'orders',
      state: 'dead',
      event: { payload: { order: 1 }, headers: { tenant: 't1' } },
      cycle: { number: 0, reason: 'attempts_exhausted', category: 'transient', attemptCount: 3 },
    })
    expect(letter?.cycle.attempts.map(({ number, delayMs }) => [number, delayMs])).toEqual([
      [1, 1_000],
      [2, 1_000],
      [3, undefined],
    ])
    expect(recorder.count('letterSaved')).toBe(1)
    await consumer.close()
  })

  it('E20: a letter that the broker keeps is told of like one in a store, and only when it is durable', async () => {
    const { consumer, broker, publish, clock, recorder } = world({
      deadLetters: undefined,
      handle: async () => {
        throw new PermanentError('no such product')
      },
    })
    const subscribe = broker.subscribe.bind(broker)
    const stored = Promise.withResolvers<void>()
    broker.subscribe = async (options, deliver) => {
      const subscription = await subscribe(options, deliver)
      const settle = subscription.settle.bind(subscription)
      subscription.settle = (...given) => stored.promise.then(() => settle(...given))
      return subscription
    }
    await consumer.start()
    await publish('x')
    await clock.advance(0)
    expect(recorder.count('letterSaved')).toBe(0)
    stored.resolve()
    await clock.advance(0)
    expect(recorder.of('letterSaved')).toMatchObject([
      { channel: 'orders', letter: { cycle: { reason: 'permanent' } } },
    ])
    await consumer.close()
  })

  it('E2: a permanent error becomes a letter after one attempt', async () => {
    const { consumer, publish, clock, letters } = world({
      handle: async () => {
        throw new PermanentError('no such product')
      },
    })
    await consumer.start()
    await publish('x')
    await clock.advance(0)
    expect(await letters()).toMatchObject([{ cycle: { reason: 'permanent', attemptCount: 1 } }])
    await consumer.close()
  })

  it('K9, K2: an expired event is not attempted, and that is a matter of business', async () => {
    const { consumer, publish, clock, letters, handled } = world()
    await publish({ payload: 'late', expiresAt: clock.now() - 1 })
    await consumer.start()
    await clock.advance(0)
    expect(handled).toEqual([])
    expect(await letters()).toMatchObject([
      { cycle: { reason: 'expired', category: 'business', attemptCount: 0 } },
    ])
    await consumer.close()
  })

  it('K2: a payload that does not fit the schema becomes a schema letter, whole', async () => {
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof value === 'number'
            ? { value: value * 2 }
            : { issues: [{ message: 'not a number', path: ['n'] }] },
      },
    }
    const seen: unknown[] = []
    const { consumer, publish, clock, letters } = world({
      schema,
      handle: async event => {
        seen.push(event.payload)
      },
    })
    await publish({ payload: 21 }, { payload: 'no' })
    await consumer.start()
    await clock.advance(0)
    expect(seen).toEqual([42])
    expect(await letters()).toMatchObject([
      {
        event: { payload: 'no' },
        cycle: { reason: 'schema', category: 'schema', failure: { message: 'n: not a number' } },
      },
    ])
    await consumer.close()
  })

  it('E17: an attempt that hangs ends with its timeout and is retried', async () => {
    let attempts = 0
    const { consumer, publish, clock, handled } = world({
      timeoutMs: 1_000,
      handle: async (event, { signal }) => {
        if (++attempts === 1) await sleep(clock, 1_000_000, signal)
        handled.push(String(event.payload))
      },
    })
    await consumer.start()
    await publish('x')
    await clock.advance(10_000)
    expect(handled).toEqual(['x'])
    await consumer.close()
  })
})

describe('a consumer protects', () => {
  it('B6: an open breaker pauses: no letter, no attempt burnt, and everything is handled after the return', async () => {
    let down = true
    let attempts = 0
    const { consumer, publish, clock, handled, letters, recorder } = world({
      concurrency: 5,
      breaker: { failures: 5, openMs: 30_000, successes: 2 },
      handle: async event => {
        attempts++
        if (down) throw refused()
        handled.push(String(event.payload))
      },
    })
    await consumer.start()
    await publish(...Array.from({ length: 50 }, (_, index) => `e${index}`))
    await clock.advance(60_000)
    expect(recorder.of('consumerPaused')).toContainEqual({
      channel: 'orders',
      name: 'orders',
      reason: 'breaker',
    })
    expect(attempts).toBeLessThanOrEqual(8)
    expect(await letters()).toEqual([])
    down = false
    await clock.advance(60_000)
    expect(handled).toHaveLength(50)
    expect(consumer.health()).toMatchObject({ breakerState: 'closed', paused: [] })
    await consumer.close()
  })

  it('E16: a breaker that is forced open pauses the consumer until the force ends', async () => {
    const { consumer, publish, clock, handled } = world()
    consumer.breaker?.force('open', 'ann')
    await consumer.start()
    await publish('x')
    await clock.advance(600_000)
    expect(handled).toEqual([])
    consumer.breaker?.force('closed')
    await clock.advance(0)
    expect(handled).toEqual(['x'])
    await consumer.close()
  })

  it('K5: the same failure three times on one event is poison: quarantined at once, others go on', async () => {
    const { consumer, publish, clock, letters, handled, recorder } = world({
      retry: { attempts: 9, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
      handle: async event => {
        if (event.payload === 'poison') throw new TransientError('no such tariff', { category: 'business' })
        handled.push(String(event.payload))
      },
    })
    await consumer.start()
    await publish('poison', 'a', 'b')
    await clock.advance(20_000)
    expect(handled).toEqual(['a', 'b'])
    expect(await letters()).toMatchObject([
      { state: 'quarantined', cycle: { reason: 'poison', attemptCount: 3 } },
    ])
    expect(recorder.of('poisonQuarantined')).toMatchObject([{ by: 'repeats' }])
    await consumer.close()
  })

  it('E4: retries over the limit wait for their turn', async () => {
    const retriedAt: number[] = []
    const failedOnce = new Set<unknown>()
    const { consumer, publish, clock } = world({
      concurrency: 50,
      breaker: 'off',
      retry: { attempts: 2, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
      retryLimit: { perSecond: 10 },
      handle: async event => {
        if (failedOnce.has(event.id)) retriedAt.push(clock.now())
        else {
          failedOnce.add(event.id)
          throw refused()
        }
      },
    })
    await consumer.start()
    await publish(...Array.from({ length: 30 }, () => 'x'))
    await clock.advance(10_000)
    expect(retriedAt).toHaveLength(30)
    for (const at of retriedAt)
      expect(retriedAt.filter(other => other >= at && other < at + 1_000).length).toBeLessThanOrEqual(10)
    await consumer.close()
  })

  it('B2: an exhausted budget dead-letters with its own reason', async () => {
    const { consumer, publish, clock, letters } = world({
      budget: { ratio: 0, floorPerSecond: 0 },
      handle: async () => {
        throw refused()
      },
    })
    await consumer.start()
    await publish('x')
    await clock.advance(0)
    expect(await letters()).toMatchObject([{ cycle: { reason: 'retry_budget' } }])
    await consumer.close()
  })

  it('S8: a ledger skips what is done, and a failed attempt releases its claim', async () => {
    const clock = new FakeClock()
    const ledger = memoryLedger({ clock, random: seededRandom(3) })
    let attempts = 0
    const { consumer, publish, handled, recorder } = world({
      clock,
      ledger,
      handle: async event => {
        if (++attempts === 1) throw refused()
        handled.push(String(event.payload))
      },
    })
    await consumer.start()
    await publish({ payload: 'a', idempotencyKey: 'once' })
    await clock.advance(5_000)
    await publish({ payload: 'a again', idempotencyKey: 'once' })
    await clock.advance(5_000)
    expect(handled).toEqual(['a'])
    expect(recorder.of('eventProcessed').map(({ outcome }) => outcome)).toContain('skipped')
    await consumer.close()
  })

  it('S8: handlers of one name on two channels are two handlers to the ledger', async () => {
    const clock = new FakeClock()
    const ledger = memoryLedger({ clock, random: seededRandom(3) })
    const orders = world({ clock, ledger, name: 'bill' })
    const refunds = world({ clock, ledger, name: 'bill', channel: 'refunds' })
    await orders.consumer.start()
    await refunds.consumer.start()
    await orders.publish({ payload: 'o', idempotencyKey: '7' })
    await clock.advance(1)
    await refunds.publish({ payload: 'r', idempotencyKey: '7', channel: 'refunds' })
    await clock.advance(1)
    expect([orders.handled, refunds.handled]).toEqual([['o'], ['r']])
    expect(await ledger.claim(ledgerName('orders', 'bill'), '7', 1)).toMatchObject({ kind: 'done' })
    expect(await ledger.claim(ledgerName('refunds', 'bill'), '7', 1)).toMatchObject({ kind: 'done' })
    await orders.consumer.close()
    await refunds.consumer.close()
  })

  it('S8: a handler has its own name in the ledger, whatever its channel is called', () => {
    expect(ledgerName('orders')).toBe('orders')
    expect(ledgerName('orders', 'orders')).toBe('orders')
    expect(ledgerName('orders', 'bill')).toBe('orders/bill')
    const parts = ['a', 'b', 'a/b', '/', 'a/', '/a', 'a%2Fb', '%', 'a/a/b', 'a/a']
    const names = parts.flatMap(channel => parts.map(handler => ledgerName(channel, handler)))
    expect(new Set(names).size).toBe(names.length)
  })
})
