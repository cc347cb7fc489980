import { describe, expect, it } from 'vitest'
import { refused, consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { memoryBroker, memoryDeadLetters, memoryLimit } from '../../adapters/memory/index.ts'
import { memorySpill } from '../../adapters/memory/letters/spill.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { createRetryLimiter } from '../limiters.ts'
import type { HandlerContext } from './handler-context.ts'

const GRACE_MS = 10_000
/** Grace, and then a limit each for attempts, subscription, letters and resources. */
const BOUND_MS = GRACE_MS + 4 * 5_000

/** Closes while time goes on, and tells how long it took. */
async function closing({
  consumer,
  clock,
}: Pick<ReturnType<typeof world>, 'consumer' | 'clock'>): Promise<number> {
  const from = clock.now()
  let tookMs: number | undefined
  const closed = consumer.close().then(() => {
    tookMs = clock.now() - from
  })
  for (let stepMs = 0; tookMs === undefined && stepMs <= BOUND_MS; stepMs += 100) await clock.advance(100)
  await closed
  return tookMs!
}

/** The same broker as another process sees it: what runs here is unknown there. */
function inAnotherProcess<B extends object>(broker: B): B {
  return new Proxy(broker, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** A consumer of the process that is started next gets what the first one gave back. */
async function leftOver(first: ReturnType<typeof world>): Promise<unknown[]> {
  const seen: unknown[] = []
  const second = world({
    broker: inAnotherProcess(first.broker),
    clock: first.clock,
    handle: event => void seen.push(event.payload),
  })
  await second.consumer.start()
  await first.clock.advance(60_000)
  return seen
}

/** The broker outlives its consumer, as a server would. */
function lasting(options: Parameters<typeof world>[0] = {}) {
  const made = world(options)
  made.broker.close = async () => {}
  return made
}

describe('what a consumer was given', () => {
  it('P1: is closed by the last one that uses it', async () => {
    const first = world()
    const second = world({ broker: first.broker, deadLetters: first.deadLetters, clock: first.clock })
    await Promise.all([first.consumer.start(), second.consumer.start()])
    await closing(first)
    await first.publish('x')
    expect((await first.deadLetters.stats()).count).toBe(0)
    await closing(second)
    await expect(first.publish('y')).rejects.toMatchObject({ code: 'LAZARET_BROKER_CLOSED' })
    await expect(first.deadLetters.stats()).rejects.toMatchObject({ code: 'LAZARET_DEAD_LETTERS_CLOSED' })
  })

  it('P1: stays open with leaveOpen, a live limit too; what it made itself is closed', async () => {
    const clock = new FakeClock()
    const shared = memoryLimit({ clock })
    const limiter = createRetryLimiter({ perSecond: 5, shared }, { clock })
    for (const retryLimit of [limiter, { perSecond: 5, shared }]) {
      const it = world({ clock, leaveOpen: true, retryLimit })
      await it.consumer.start()
      await closing(it)
      await it.publish('x')
      expect((await it.deadLetters.stats()).count).toBe(0)
      expect(shared.closing.aborted).toBe(false)
    }
  })

  it.each([
    [true, 'leaves it open'],
    [false, 'closes it, whatever the others said'],
  ])('P1: the last one with leaveOpen %s %s', async (leaveOpen, _what) => {
    const last = world({ leaveOpen })
    const other = world({ broker: last.broker, clock: last.clock, leaveOpen: !leaveOpen })
    await Promise.all([last.consumer.start(), other.consumer.start()])
    await closing(other)
    await last.publish('x')
    await closing(last)
    if (leaveOpen) await last.publish('y')
    else await expect(last.publish('y')).rejects.toMatchObject({ code: 'LAZARET_BROKER_CLOSED' })
  })
})

describe('closing a consumer', () => {
  it('idle: ends at once, and twice is safe', async () => {
    const it = world()
    await it.consumer.start()
    expect(await closing(it)).toBe(0)
    await expect(it.consumer.close()).resolves.toBeUndefined()
    await expect(it.consumer.start()).rejects.toMatchObject({ code: 'LAZARET_CLOSED' })
  })

  it('before start and during start: ends, and takes nothing', async () => {
    const never = world()
    await never.consumer.close()
    const it = lasting()
    await it.publish('x')
    const started = it.consumer.start()
    const closed = closing(it)
    await started
    await closed
    expect([...it.handled, ...(await leftOver(it))]).toEqual(['x'])
  })

  it('busy: lets attempts finish within the grace time and gives the rest back', async () => {
    const it = lasting({
      concurrency: 1,
      handle: async event => {
        await new Promise<void>(resolve => it.clock.schedule(3_000, resolve))
        it.handled.push(String(event.payload))
      },
    })
    await it.consumer.start()
    await it.publish('a', 'b', 'c')
    await it.clock.advance(0)
    expect(await closing(it)).toBe(3_000)
    expect(it.handled).toEqual(['a'])
    expect((await leftOver(it)).sort()).toEqual(['b', 'c'])
  })

  it('busy beyond the grace time: aborts the signal, and the interrupted attempt costs nothing', async () => {
    const signals: AbortSignal[] = []
    const attempts: number[] = []
    const it = lasting({
      handle: async (_event, { signal, attempt }: HandlerContext) => {
        signals.push(signal)
        attempts.push(attempt)
        await new Promise(() => {})
      },
    })
    await it.consumer.start()
    await it.publish('slow')
    await it.clock.advance(0)
    expect(await closing(it)).toBe(GRACE_MS)
    expect(signals[0]?.aborted).toBe(true)
    const again: number[] = []
    const next = world({
      broker: inAnotherProcess(it.broker),
      clock: it.clock,
      handle: (_event, { attempt }) => void again.push(attempt),
    })
    await next.consumer.start()
    await it.clock.advance(0)
    expect([attempts, again]).toEqual([[1], [1]])
  })

  it('busy with beginning: a handler does not start after the grace time, and its event goes back', async () => {
    const it = lasting()
    const begun = Promise.withResolvers<void>()
    const subscribe = it.broker.subscribe.bind(it.broker)
    it.broker.subscribe = async (options, deliver) => {
      const subscription = await subscribe(options, deliver)
      const begin = subscription.begin.bind(subscription)
      subscription.begin = async (...given) => {
        await begun.promise
        return begin(...given)
      }
      return subscription
    }
    await it.consumer.start()
    await it.publish('x')
    await it.clock.advance(1)
    const closed = closing(it)
    await it.clock.advance(GRACE_MS + 1)
    begun.resolve()
    await closed
    expect(it.handled).toEqual([])
    expect(await leftOver(it)).toEqual(['x'])
  })

  it('paused by an open breaker, and half-open with a probe in flight', async () => {
    const it = lasting({
      breaker: { failures: 1, openMs: 5_000 },
      handle: async () => {
        if (it.consumer.breaker?.state.mode === 'half-open') await new Promise(() => {})
        throw refused()
      },
    })
    await it.consumer.start()
    await it.publish('a', 'b')
    await it.clock.advance(5_000)
    expect(it.consumer.health()).toMatchObject({ breakerState: 'half-open', active: 1 })
    expect(await closing(it)).toBe(GRACE_MS)
    expect((await leftOver(it)).sort()).toEqual(['a', 'b'])
  })

  it('retrying in process: the retry goes back to the broker with its attempts on record', async () => {
    const it = lasting({
      inProcessWaitMs: 60_000,
      retry: { attempts: 3, backoff: fixed({ delayMs: 20_000, jitter: 'none' }) },
      handle: async () => {
        throw refused()
      },
    })
    await it.consumer.start()
    await it.publish('x')
    await it.clock.advance(1_000)
    expect(await closing(it)).toBe(0)
    const attempts: number[] = []
    const next = world({
      broker: it.broker,
      clock: it.clock,
      handle: (_event, context) => void attempts.push(context.attempt),
    })
    await next.consumer.start()
    await it.clock.advance(0)
    expect(attempts).toEqual([2])
  })

  it('K10: with no store to save to, nothing is acknowledged: the event comes again', async () => {
    const deadLetters = memoryDeadLetters()
    deadLetters.send = () => Promise.reject(new Error('disk full'))
    const it = lasting({
      deadLetters,
      retry: { attempts: 1 },
      handle: async () => {
        throw refused()
      },
    })
    await it.consumer.start()
    await it.publish('x')
    await it.clock.advance(2_000)
    expect(it.consumer.health().paused).toEqual(['store'])
    await closing(it)
    const saved = memoryDeadLetters()
    const next = world({ broker: it.broker, clock: it.clock, deadLetters: saved, retry: { attempts: 1 } })
    await next.consumer.start()
    await it.clock.advance(0)
    expect((await saved.list()).letters).toMatchObject([
      { event: { payload: 'x' }, cycle: { attemptCount: 1 } },
    ])
  })

  it('B7: after a start that failed nothing goes on: no letter is moved out of the spill any more', async () => {
    const broker = memoryBroker()
    broker.subscribe = () => Promise.reject(refused())
    const spill = memorySpill()
    const it = world({ broker, spill })
    await spill.send(createFactory({ clock: it.clock, random: seededRandom(1) }).letter())
    it.deadLetters.send = () => Promise.reject(refused())
    await expect(it.consumer.start()).rejects.toThrow()
    await it.clock.advance(1)
    await closing(it)
    expect(it.clock.pending).toBe(0)
  })

  it('a broker that hangs does not keep it from ending', async () => {
    const broker = memoryBroker()
    const subscribe = broker.subscribe.bind(broker)
    broker.subscribe = async (options, deliver) =>
      Object.assign(await subscribe(options, deliver), { close: () => new Promise<never>(() => {}) })
    const it = world({ broker })
    await it.consumer.start()
    expect(await closing(it)).toBeLessThanOrEqual(BOUND_MS)
  })
})
