import pino from 'pino'
import { describe, expect, it } from 'vitest'
import { consumerWorld, refused } from '../../../test/support/consumer-world.ts'
import { RecordingLogger } from '../../../test/support/lines.ts'
import { memoryDeadLetters, memorySink } from '../../adapters/memory/index.ts'
import { createMasks } from '../../core/dead-letter/masks.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { fixed } from '../../core/retry/fixed.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Observations, Observer } from '../../ports/observer.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { createDispatcher } from '../dispatcher/dispatcher.ts'
import { asJob } from '../dispatcher/track/tracking-mode.ts'
import { failureLog } from '../failure-log.ts'
import { combineObservers } from '../observe.ts'
import { logObserver } from './log-observer.ts'

const MANY = 10_000
const PAYLOAD = { card: 'of a customer' }
const at = 0
const secretive = Object.assign(new Error('no answer from postgres://shop:hunter2@db/shop'), {
  code: 'ECONNREFUSED',
  payload: PAYLOAD,
})

/** Tells the observer something and answers what it wrote. */
function written<K extends keyof Observations>(...told: [K, Observations[K]][]): RecordingLogger {
  const logger = new RecordingLogger()
  const observer: Observer = logObserver(logger, { clock: new FakeClock() })
  for (const [what, event] of told) (observer[what] as (event: Observations[K]) => void)(event)
  return logger
}

function letter(about: Parameters<ReturnType<typeof createFactory>['letter']>[0] = {}) {
  return createFactory().letter(about)
}

describe('one line for each change of state', () => {
  const place = { channel: 'orders', name: 'billing' }
  const named = { name: 'loki' }
  const error = secretive
  it.each([
    ['breakerChanged', { ...named, from: 'closed', to: 'open', at }, 'warn breaker_opened'],
    ['breakerChanged', { ...named, from: 'open', to: 'half-open', at }, 'debug breaker_half_open'],
    ['breakerChanged', { ...named, from: 'half-open', to: 'closed', at }, 'info breaker_closed'],
    ['breakerChanged', { ...named, from: 'closed', to: 'forced-open', at }, 'warn breaker_forced_open'],
    ['breakerChanged', { ...named, from: 'open', to: 'forced-closed', at }, 'warn breaker_forced_closed'],
    ['consumerPaused', { ...place, reason: 'breaker' }, 'warn consumer_paused'],
    ['consumerPaused', { ...place, reason: 'store' }, 'error consumer_paused'],
    ['consumerPaused', { ...place, reason: 'manual' }, 'info consumer_paused'],
    ['consumerResumed', place, 'info consumer_resumed'],
    ['letterSaved', { ...place, letter: letter() }, 'error dead_letter'],
    ['poisonQuarantined', { ...place, by: 'repeats', letter: letter() }, 'error poison_quarantined'],
    ['spillDrained', { count: 3 }, 'info spill_drained'],
    ['lettersExpired', { store: 'memory:', count: 1, byState: { resolved: 1 } }, 'info letters_expired'],
    ['spillDrainFailed', { left: 3, error, letter: undefined }, 'error spill_drain_failed'],
    ['letterWriteFailed', { ...place, error }, 'error letter_write_failed'],
    ['settlementFailed', { ...place, error }, 'warn settlement_failed'],
    ['subscriptionStalled', { ...place, place: 'letters', error }, 'error subscription_stalled'],
    ['subscriptionRecovered', { ...place, place: 'letters' }, 'info subscription_recovered'],
    ['noticeFailed', { ...place, error }, 'error notice_failed'],
    ['journalFailed', { error }, 'error journal_failed'],
    ['sharedLimitChanged', { ...named, limit: 'rate', mode: 'alone', members: 3 }, 'warn shared_limit_alone'],
    [
      'sharedLimitChanged',
      { ...named, limit: 'rate', mode: 'together', members: 3 },
      'info shared_limit_together',
    ],
    [
      'trackingFailureSwallowed',
      { job: 'SendEmailJob', errorName: 'TypeError', reason: 'permanent' },
      'warn tracking_failure_swallowed',
    ],
    ['healthChecked', { ...named, healthy: false }, 'warn health_check_failed'],
    ['eventLimited', { type: 'order.paid', became: 'saved' }, 'warn rate_limited'],
    ['eventLimited', { type: 'order.paid', became: 'unsaved' }, 'error rate_limited'],
    ['retryLimited', { ...named, action: 'delay' }, 'warn retries_limited'],
    ['budgetExhausted', named, 'warn budget_exhausted'],
    ['eventDropped', { ...named, type: 'order.paid', reason: 'buffer_full' }, 'error events_dropped'],
  ] as [keyof Observations, never, string][])('S7: %s %o is %s', (what, event, line) => {
    expect(written([what, event]).told).toEqual([line])
  })

  it('S7: a letter that was spilled is told of as a letter, and that letters are spilled', () => {
    const logger = written(['letterSpilled', { ...place, letter: letter() }])
    expect(logger.told).toEqual(['error dead_letter', 'warn letters_spilled'])
  })

  it('K5: a poison pill is one line, with everything to know of it', () => {
    const poison = letter({ reason: 'poison' })
    const logger = written<keyof Observations>(
      ['poisonQuarantined', { ...place, by: 'repeats', letter: poison }],
      ['letterSaved', { ...place, letter: poison }],
    )
    expect(logger.lines).toMatchObject([
      { level: 'error', fields: { what: 'poison_quarantined', by: 'repeats', letterId: poison.id } },
    ])
  })

  it('E18: a health check is a line when it turns, not for each probe', () => {
    const probe = (healthy: boolean): ['healthChecked', Observations['healthChecked']] => [
      'healthChecked',
      { name: 'loki', healthy },
    ]
    const turns = [false, false, true, true, false].map(probe)
    expect(written(...turns).told).toEqual([
      'warn health_check_failed',
      'info health_check_passed',
      'warn health_check_failed',
    ])
    // Events have found it well meanwhile.
    const closed: [keyof Observations, never] = [
      'breakerChanged',
      { name: 'loki', from: 'half-open', to: 'closed', at: 0 } as never,
    ]
    expect(written<keyof Observations>(probe(false), closed, probe(false)).told).toEqual([
      'warn health_check_failed',
      'info breaker_closed',
      'warn health_check_failed',
    ])
  })

  it('E20: errors have no payload and no password, with any logger', () => {
    const [line] = written(['settlementFailed', { ...place, error: secretive }]).lines
    expect(line!.fields.err).toEqual({
      type: 'Error',
      message: expect.stringContaining('no answer from postgres:'),
      code: 'ECONNREFUSED',
      stack: expect.stringContaining('log-observer.test'),
    })
    expect(JSON.stringify(line)).not.toMatch(/hunter2|customer/)
    const lines: string[] = []
    const logger = pino({ base: null, timestamp: false }, { write: text => void lines.push(text) })
    const caused = new TypeError('not settled', { cause: secretive })
    logObserver(logger, { masks: createMasks({ patterns: [/settled/] }) }).settlementFailed?.({
      ...place,
      error: caused,
    })
    const { err } = JSON.parse(lines[0]!)
    expect(err).toMatchObject({ type: 'TypeError', code: 'ECONNREFUSED' })
    expect(err.message).toMatch(/^not [^s]+: no answer from postgres:/)
    expect(lines[0]).not.toMatch(/hunter2|customer|settled(?!_failed)/)
  })
})

describe('an event that is given up on, as a line', () => {
  it('S7: has event id, type, source, target, handler, last error and attempts, masked and without payload', async () => {
    const logger = new RecordingLogger()
    const { consumer, publish, clock, letters } = consumerWorld({
      name: 'billing',
      retry: { attempts: 2, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
      handle: async () => {
        throw Object.assign(new Error('order 17 of ann@example.com'), { code: 'ECONNRESET' })
      },
      observer: logObserver(logger, { masks: createMasks({ patterns: [/order \d+/] }) }),
    })
    await consumer.start()
    await publish({ payload: PAYLOAD, source: '/shop/checkout' })
    await clock.advance(10_000)
    const [letter] = await letters()
    expect(logger.of('dead_letter')).toEqual([
      {
        level: 'error',
        message: 'event failed',
        fields: expect.objectContaining({
          eventId: letter!.event.id,
          letterId: letter!.id,
          type: 'order.placed',
          channel: 'orders',
          source: '/shop/checkout',
          target: 'billing',
          handler: 'billing',
          attempts: 2,
          reason: 'attempts_exhausted',
        }),
      },
    ])
    expect(JSON.stringify(logger.lines)).not.toMatch(/order 17|ann@|customer/)
    await consumer.close()
  })

  it('E16, B6: the outage of a dependency is a line for each turn it takes', async () => {
    const logger = new RecordingLogger()
    let isDown = true
    const { consumer, publish, clock } = consumerWorld({
      name: 'billing',
      breaker: { failures: 2, openMs: 1_000, successes: 1 },
      // All retries ask the breaker at the same time.
      retryLimit: 'off',
      retry: { attempts: 20, backoff: fixed({ delayMs: 10, jitter: 'none' }) },
      handle: async () => {
        if (isDown) throw refused()
      },
      observer: logObserver(logger),
    })
    await consumer.start()
    await publish('a', 'b', 'c')
    await clock.advance(500)
    isDown = false
    await clock.advance(10_000)
    expect(logger.told.filter(told => /breaker|consumer/.test(told))).toEqual([
      'warn breaker_opened',
      'warn consumer_paused',
      'info consumer_resumed',
      // One event at a time finds out how it is; the others wait.
      'debug breaker_half_open',
      'warn consumer_paused',
      'info breaker_closed',
      'info consumer_resumed',
    ])
    await consumer.close()
  })
})

describe('a storm', () => {
  it(`E20: ${MANY} events that succeed write nothing`, async () => {
    const logger = new RecordingLogger()
    const observer = logObserver(logger)
    const { consumer, publish, clock, handled } = consumerWorld({ observer, concurrency: 100 })
    await consumer.start()
    await publish(...Array.from({ length: MANY / 2 }, (_, n) => `${n}`))
    await clock.advance(1_000)
    expect(handled).toHaveLength(MANY / 2)
    const sink = memorySink()
    const events = createDispatcher({ sinks: { sink }, deadLetters: memoryDeadLetters(), observer })
    for (let n = 0; n < MANY / 2; n++) void events.track({ type: `order.${n % 7}` })
    await events.flush()
    expect(sink.events).toHaveLength(MANY / 2)
    expect(logger.told).toEqual([])
    await consumer.close()
    await events.close()
  })

  it(`E14: ${MANY} limited events of many types are a few lines, and their counts add up`, async () => {
    const logger = new RecordingLogger()
    const clock = new FakeClock()
    const observer = logObserver(logger, { clock, maxAggregated: 5 })
    const deadLetters = memoryDeadLetters()
    const events = createDispatcher({
      sinks: { sink: memorySink() },
      deadLetters,
      observer,
      clock,
      rateLimit: { perSecond: 1 },
      filter: { never: ['view.*'] },
    })
    await events.track({ type: 'first' })
    for (let n = 0; n < MANY; n++) {
      void events.track({ type: `${n % 2 === 0 ? 'view' : 'order'}.${n % 100}` })
      if (n === MANY / 2) await clock.advance(100)
    }
    await events.flush()
    // 5 told apart and the others as one: a line at first, and one for the rest of the minute.
    expect(logger.lines).toHaveLength(6)
    await clock.advance(60_000)
    expect(logger.lines).toHaveLength(12)
    expect(logger.count('rate_limited')).toBe(MANY)
    await clock.advance(60_000)
    expect(logger.lines).toHaveLength(18)
    const ended = logger.of('rate_limited_ended')
    expect(ended.reduce((sum, { fields }) => sum + fields.total, 0)).toBe(MANY)
    expect(new Set(logger.lines.map(({ fields }) => fields.type)).size).toBe(6)
    await events.close()
    await clock.advance(600_000)
    expect(logger.lines).toHaveLength(18)
    expect(clock.pending).toBe(0)
  })

  it('E17: a sink that is down buries its events in few lines, those that were tried one by one', async () => {
    const logger = new RecordingLogger()
    const clock = new FakeClock()
    const observer = logObserver(logger, { clock })
    const deadLetters = memoryDeadLetters()
    const events = createDispatcher({
      sinks: { sink: { write: () => Promise.reject(refused()) } },
      deadLetters,
      observer,
      clock,
      retry: { attempts: 1 },
      batch: { maxCount: 1 },
      breaker: { failures: 5, openMs: 60_000 },
    })
    for (let n = 0; n < 1_000; n++) {
      events.track({ type: 'order.paid' }).catch(() => {})
      await clock.advance(1)
    }
    await events.flush()
    observer.flush()
    const { count } = await deadLetters.stats()
    expect(count).toBe(1_000)
    expect(logger.of('dead_letter').length + logger.count('dead_letters_untried')).toBe(1_000)
    expect(logger.lines.length).toBeLessThan(20)
    await events.close()
  })
})

describe('an event that was tracked in a job', () => {
  it('E7, S7: is a line for each of its letters, also when they are told again because no sink was left', async () => {
    const logger = new RecordingLogger()
    const lines: string[] = []
    const clock = new FakeClock()
    const down = { write: () => Promise.reject(new PermanentError('never')) }
    const events = createDispatcher({
      sinks: { loki: down, sentry: down },
      deadLetters: memoryDeadLetters(),
      observer: combineObservers(
        logObserver(logger, { clock }),
        failureLog(line => void lines.push(line)),
      ),
      clock,
    })
    const tracked = asJob('SendEmailJob', () => events.track({ type: 'mail.sent' }))
    await clock.advance(1_000)
    expect(await tracked).toHaveProperty('swallowed')
    const handlers = logger.of('dead_letter').map(({ fields }) => fields['handler'])
    expect(handlers.sort()).toEqual(['loki', 'sentry'])
    expect(lines).toHaveLength(2)
    expect(logger.count('tracking_failure_swallowed')).toBe(1)
    await events.close()
  })
})

describe('a logger that fails', () => {
  it.each<[string, Logger]>([
    ['throws', failing(() => fail())],
    ['rejects', failing(async () => fail())],
  ])('S7: when it %s, nothing changes for the event', async (_, logger) => {
    const { consumer, publish, clock, letters } = consumerWorld({
      handle: async () => {
        throw new PermanentError('never')
      },
      observer: logObserver(logger),
    })
    await consumer.start()
    await publish('a')
    await clock.advance(0)
    expect(await letters()).toHaveLength(1)
    await consumer.close()
  })

  it('S7: nor does it end the process from the timer of its counts', async () => {
    const clock = new FakeClock()
    const observer = logObserver(failing(fail), { clock })
    observer.budgetExhausted?.({ name: 'billing' })
    observer.budgetExhausted?.({ name: 'billing' })
    await clock.advance(120_000)
    observer.flush()
    expect(clock.pending).toBe(0)
  })

  it('S7: faults in the options are found at once', () => {
    const options = { repeatMs: 0, maxAggregated: 0, masks: 'none', clock: 7 } as never
    expect(() => logObserver(new RecordingLogger(), options)).toThrow(
      /masks[\s\S]*repeatMs[\s\S]*maxAggregated[\s\S]*clock/,
    )
  })
})

function failing(log: () => unknown): Logger {
  return { debug: log, info: log, warn: log, error: log } as Logger
}

function fail(): never {
  throw new Error('no disk for the log')
}
