import { setImmediate } from 'node:timers/promises'
import type {
  Broker,
  Consumer,
  ConsumerOptions,
  DispatcherOptions,
  LazaretEvent,
  ResilientOptions,
} from '../../src/index.ts'

/** The modules of one build. */
export interface Build {
  readonly lazaret: typeof import('../../src/index.ts')
  readonly memory: typeof import('../../src/adapters/memory/index.ts')
}

/** Times the part of a round between its two calls. */
export interface Stopwatch {
  start(): void
  stop(): void
}

/**
 * Does this number of calls, messages or events. A workload without timers lets the event loop turn between two bursts, as
 * every program does: in one endless chain of promises the garbage collector keeps what earlier bursts left, in some builds
 * and not in others.
 */
export type Workload = (count: number, stopwatch: Stopwatch) => Promise<void>

const CHANNEL = 'orders'
const TYPE = 'order.placed'
const CONCURRENCY = 100
const MAX_ROUND = 1_000_000
/** Calls or events that are in flight together. */
const BURST = 250
/** A breaker that never opens and limits that are never reached, so that every round does the same work. */
const BREAKER = { failures: Number.MAX_SAFE_INTEGER }
const RATE_LIMIT = { perSecond: 4e6, burst: 4e6 }
const RETRY_LIMIT = { perSecond: 4e6 }
const BUDGET = { floorPerSecond: 4e6 }
const FIVE = { retry: {}, breaker: BREAKER, rateLimit: RATE_LIMIT, budget: BUDGET, timeoutMs: 2_000 }

/**
 * Makes the workloads, by name. Every build imports this module for itself, so that V8 compiles it for one build and not for
 * both. It uses only the names and options that both builds have.
 */
export function workloads({ lazaret, memory }: Build): Readonly<Record<string, () => Workload>> {
  const { createConsumer, createDispatcher, createEvent, createRelay, PermanentError, resilient } = lazaret
  const { memoryBroker, memoryDeadLetters, memorySink } = memory
  const metrics = lazaret.createMetrics().observer
  const retry = { attempts: 2, backoff: lazaret.fixed({ delayMs: 1, jitter: 'none' }) }
  // Making an error with its stack is the cost of the caller's function.
  const permanent = new PermanentError('the card is blocked')
  const transient = new Error('the card was declined')

  /** One call after the other. Calls that fail are timed up to their error. */
  function call(work: () => Promise<unknown>, options: ResilientOptions): Workload {
    const guarded = resilient(work, options)
    return async (count, stopwatch) => {
      stopwatch.start()
      for (let number = 0; number < count; number++) {
        try {
          await guarded()
        } catch {}
      }
      stopwatch.stop()
    }
  }

  /** Calls that all fail once. Those of a burst wait together. */
  function retriedCall(): Workload {
    const guarded = resilient(
      async (call: { attempts: number }) => {
        if (call.attempts++ === 0) throw transient
      },
      { ...FIVE, retry },
    )
    return async (count, stopwatch) => {
      stopwatch.start()
      for (let number = 0; number < count; number += BURST)
        await Promise.all(Array.from({ length: BURST }, () => guarded({ attempts: 0 })))
      stopwatch.stop()
    }
  }

  function makeEvents(count: number): LazaretEvent[] {
    return Array.from({ length: count }, (_, order) =>
      createEvent({ type: TYPE, channel: CHANNEL, payload: { order } }),
    )
  }

  /**
   * A consumer that runs for all rounds. A round is timed from the moment when all of its events wait in the paused
   * consumer or in the broker until the last attempt of the last event.
   */
  function stream(open: (broker: Broker, attempted: () => void) => Consumer): Workload {
    const broker = memoryBroker({ maxPerChannel: MAX_ROUND })
    let left = 0
    let all = Promise.withResolvers<void>()
    const consumer = open(broker, () => {
      if (--left === 0) all.resolve()
    })
    const started = consumer.start()
    return async (count, stopwatch) => {
      await started
      const events = makeEvents(count)
      left = count
      all = Promise.withResolvers()
      consumer.pause()
      await broker.publish(events)
      stopwatch.start()
      consumer.resume()
      await all.promise
      stopwatch.stop()
    }
  }

  function consume(options: Partial<ConsumerOptions>, failing?: 'once' | 'for good'): Workload {
    const lastAttempt = failing === 'once' ? 2 : 1
    return stream((broker, attempted) =>
      createConsumer({
        broker,
        channel: CHANNEL,
        deadLetters: { send: async () => {}, close: async () => {} },
        concurrency: CONCURRENCY,
        breaker: BREAKER,
        retryLimit: RETRY_LIMIT,
        retry,
        ...options,
        handle: async (_event, { attempt }) => {
          if (attempt === lastAttempt) attempted()
          if (failing === 'for good') throw new PermanentError('the card is blocked')
          if (failing === 'once' && attempt === 1) throw new Error('the card was declined')
        },
      }),
    )
  }

  function relay(): Workload {
    return stream((from, attempted) =>
      createRelay({
        from,
        to: async () => attempted(),
        channel: CHANNEL,
        name: 'relay',
        deadLetters: memoryDeadLetters(),
        concurrency: CONCURRENCY,
      }),
    )
  }

  function track(
    sinks: () => DispatcherOptions['sinks'],
    options: Partial<DispatcherOptions> = {},
  ): Workload {
    const events = createDispatcher({
      sinks: sinks(),
      deadLetters: { send: async () => {}, close: async () => {} },
      breaker: BREAKER,
      retryLimit: RETRY_LIMIT,
      retry,
      ...options,
    })
    return async (count, stopwatch) => {
      stopwatch.start()
      for (let order = 0; order < count; ) {
        for (let number = 0; number < BURST; number++)
          void events.track({ type: TYPE, payload: { order: order++ } }, { wait: 'accepted' })
        await events.flush()
        await setImmediate()
      }
      stopwatch.stop()
    }
  }

  const sink = () => memorySink({ maxEvents: BURST })
  const refusing = () => ({
    sink: {
      write: async (batch: readonly LazaretEvent[]) => ({
        rejected: batch.map((_, index) => ({ index, error: permanent })),
      }),
    },
  })
  /** Every batch fails at its first write. */
  const failingOnce = () => {
    let writes = 0
    return {
      sink: {
        write: async () => {
          if (writes++ % 2 === 0) throw transient
        },
      },
    }
  }

  const succeed = async () => 1
  const fail = async () => {
    throw permanent
  }

  return {
    'call, retry': () => call(succeed, { retry: {} }),
    'call, retry + breaker + timeout': () => call(succeed, { retry: {}, breaker: {}, timeoutMs: 2_000 }),
    'call, all five': () => call(succeed, FIVE),
    'call, all five, metrics on': () => call(succeed, { ...FIVE, observer: metrics }),
    'call, all five, fails for good': () => call(fail, FIVE),
    'call, all five, fails once': () => retriedCall(),
    consume: () => consume({}),
    'consume, metrics on': () => consume({ observer: metrics }),
    'consume, fails once, retried in the process': () => consume({}, 'once'),
    'consume, fails once, retried by the broker': () => consume({ inProcessWaitMs: 0 }, 'once'),
    'consume, fails for good, dead letter': () => consume({}, 'for good'),
    'consume, fails for good, metrics on': () => consume({ observer: metrics }, 'for good'),
    relay: () => relay(),
    'create an event': () => async (count, stopwatch) => {
      stopwatch.start()
      makeEvents(count)
      stopwatch.stop()
    },
    'track, one sink': () => track(() => ({ sink: sink() })),
    'track, one sink, metrics on': () => track(() => ({ sink: sink() }), { observer: metrics }),
    'track, three sinks': () => track(() => ({ one: sink(), two: sink(), three: sink() })),
    'track, every batch fails once': () => track(failingOnce),
    'track, every event becomes a dead letter': () => track(refusing),
  }
}
