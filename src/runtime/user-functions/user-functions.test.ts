import { describe, expect, it } from 'vitest'
import { HOSTILE_VALUES } from '../../../test/support/hostile.ts'
import { nestedRejection } from '../../../test/support/rejections.ts'
import { memoryBroker, memoryDeadLetters } from '../../adapters/memory/index.ts'
import { memorySink } from '../../adapters/memory/sink.ts'
import type { BreakerOptions } from '../../core/breaker/options.ts'
import { fixed } from '../../core/retry/fixed.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Observer, UserFunction } from '../../ports/observer.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { Recorder } from '../../testing/recorder.ts'
import { type Breaker, createBreaker } from '../breaker.ts'
import { createConsumer } from '../consumer/consumer.ts'
import { withDeadLetters } from '../consumer/with-dead-letters.ts'
import { createEvent } from '../create-event.ts'
import { createDispatcher } from '../dispatcher/dispatcher.ts'
import { resilient } from '../resilient/resilient.ts'
import type { UserFunctionHealth } from './user-faults.ts'

/** How a function of the user goes wrong. */
type Fault = () => never

const WAYS: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    throw new Error('broken option')
  },
  'throws a hostile value': () => {
    throw HOSTILE_VALUES['a proxy that throws on every touch']!()
  },
  rejects: () => Promise.reject(new Error('broken option')),
  'rejects within another promise': nestedRejection,
  'never answers': () => new Promise(() => {}),
  'returns NaN': () => Number.NaN,
  'returns undefined': () => undefined,
}

const ALL = Object.keys(WAYS)
const THROWN = ['throws', 'throws a hostile value', 'rejects', 'rejects within another promise']

interface Case {
  readonly which: UserFunction
  /** What of it goes wrong, where that is not the function itself. */
  readonly part?: string
  readonly options: (fault: Fault) => object
  /** The ways that are faults: a test that answers undefined has said no, and that is an answer. */
  readonly ways: readonly string[]
  readonly shells: readonly string[]
}

const EVERYWHERE = ['consumer', 'withDeadLetters', 'resilient', 'lane']
const WITH_LETTERS = ['consumer', 'withDeadLetters', 'lane']

const CASES: readonly Case[] = [
  {
    which: 'backoff',
    options: fault => ({ retry: { attempts: 3, backoff: { kind: 'mine', maxMs: 1_000, delayMs: fault } } }),
    ways: ALL,
    shells: EVERYWHERE,
  },
  { which: 'random', options: fault => ({ random: fault }), ways: ALL, shells: EVERYWHERE },
  {
    which: 'classify',
    options: fault => ({ classify: [{ when: () => fault(), retryable: false }] }),
    ways: [...THROWN, 'never answers'],
    shells: EVERYWHERE,
  },
  {
    which: 'filter',
    options: fault => ({ filter: { saveIf: fault } }),
    ways: ALL,
    shells: WITH_LETTERS,
  },
  {
    which: 'observer',
    options: fault => ({ observer: new Proxy({} as Observer, { get: () => fault }) }),
    ways: THROWN,
    shells: EVERYWHERE,
  },
  {
    which: 'observer',
    part: ' (reading a property)',
    options: fault => ({ observer: new Proxy({} as Observer, { get: () => fault() }) }),
    ways: ['throws', 'throws a hostile value'],
    shells: EVERYWHERE,
  },
  {
    which: 'notifier',
    options: fault => ({ notifier: { notify: fault } }),
    ways: [...THROWN, 'never answers'],
    shells: WITH_LETTERS,
  },
  {
    which: 'schema',
    options: fault => ({ schema: { '~standard': { version: 1, vendor: 'test', validate: fault } } }),
    ways: [...THROWN, 'returns NaN', 'returns undefined'],
    shells: ['consumer', 'withDeadLetters'],
  },
  {
    which: 'autoReplay',
    options: fault => ({ autoReplay: fault }),
    ways: [...THROWN, 'never answers'],
    shells: WITH_LETTERS,
  },
  {
    which: 'metadata',
    options: fault => ({ metadata: fault }),
    ways: [...THROWN, 'never answers', 'returns NaN'],
    shells: WITH_LETTERS,
  },
  { which: 'describe', options: fault => ({ describe: fault }), ways: ALL, shells: ['withDeadLetters'] },
  {
    which: 'bypass',
    options: fault => ({ rateLimit: { perSecond: 1_000, bypass: { when: fault } } }),
    ways: [...THROWN, 'never answers'],
    shells: ['lane'],
  },
  {
    which: 'critical',
    options: fault => ({ critical: fault }),
    ways: [...THROWN, 'never answers'],
    shells: ['lane'],
  },
]

const BAD = 25
const GOOD = 5
const LONG_MS = 90_000

/** What a shell did with 25 events that fail and 5 that do not. */
interface Story {
  readonly good: number
  /** Bad ones that ended in a letter, or rejected with the function's own error. */
  readonly safe: number
  readonly health: UserFunctionHealth
  readonly recorder: Recorder
}

type Shell = (options: object, thrown: () => unknown) => Promise<Story>

function parts() {
  return { clock: new FakeClock(), recorder: new Recorder(), deadLetters: memoryDeadLetters() }
}

const names = [...Array(BAD).fill('bad'), ...Array(GOOD).fill('good')] as readonly string[]

const SHELLS: Readonly<Record<string, Shell>> = {
  async consumer(options, thrown) {
    const { clock, recorder, deadLetters } = parts()
    const broker = memoryBroker({ clock })
    let good = 0
    const consumer = createConsumer({
      broker,
      channel: 'orders',
      deadLetters,
      clock,
      breaker: 'off',
      observer: recorder.observer,
      handle: async ({ payload }) => {
        if (payload === 'bad') throw thrown()
        good++
      },
      ...options,
    })
    await consumer.start()
    await broker.publish(names.map(payload => createEvent({ type: 't', channel: 'orders', payload })))
    await clock.advance(LONG_MS)
    const { userFunctions, active, waiting } = consumer.health()
    expect([active, waiting]).toEqual([0, 0])
    const { count: safe } = await deadLetters.stats()
    await consumer.close()
    return { good, safe, health: userFunctions, recorder }
  },

  async withDeadLetters(options, thrown) {
    const { clock, recorder, deadLetters } = parts()
    let good = 0
    const call = withDeadLetters(
      async (name: string) => {
        if (name === 'bad') throw thrown()
        good++
      },
      { source: 'orders', deadLetters, clock, breaker: 'off', observer: recorder.observer, ...options },
    )
    const calls = names.map(name => call(name))
    await clock.advance(LONG_MS)
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(
      names.map(() => 'fulfilled'),
    )
    const { userFunctions } = call.health()
    const { count: safe } = await deadLetters.stats()
    await call.close()
    return { good, safe, health: userFunctions, recorder }
  },

  async resilient(options, thrown) {
    const { clock, recorder } = parts()
    let good = 0
    const errors: unknown[] = []
    const call = resilient(
      async (name: string) => {
        if (name === 'good') return good++
        errors.push(thrown())
        throw errors.at(-1)
      },
      { retry: { attempts: 3 }, clock, observer: recorder.observer, ...options },
    )
    const calls = names.map(name => call(name))
    const settled = Promise.allSettled(calls)
    await clock.advance(LONG_MS)
    const own = (await settled).filter(end => end.status === 'rejected' && errors.includes(end.reason))
    return { good, safe: own.length, health: call.health().userFunctions, recorder }
  },

  async lane(options, thrown) {
    const { clock, recorder, deadLetters } = parts()
    const inner = memorySink()
    const events = createDispatcher({
      sinks: {
        only: {
          async write(batch, context) {
            if (batch.some(({ type }) => type === 'bad')) throw thrown()
            await inner.write(batch, context)
          },
        },
      },
      deadLetters,
      clock,
      breaker: 'off',
      batch: { maxCount: 1 },
      observer: recorder.observer,
      ...options,
    })
    const calls = Promise.allSettled(names.map(type => events.track({ type })))
    await clock.advance(LONG_MS)
    await calls
    const { userFunctions, sinks } = events.health()
    const own = sinks.only.userFunctions
    const health = { failures: own.failures + userFunctions.failures, last: own.last ?? userFunctions.last }
    const { count: safe } = await deadLetters.stats()
    await events.close()
    return { good: inner.count, safe, health, recorder }
  },
}

const refused = () => Object.assign(new Error('down'), { code: 'ECONNREFUSED' })

/** Stands for a mistake of our own: nothing guards the moment in which a breaker is told of a failure. */
function mistakenBreaker(options: BreakerOptions, clock: Clock, isMistaken: () => boolean): Breaker {
  const breaker = createBreaker(options, { clock, preset: 'consumer' })
  const settle = breaker.settle.bind(breaker)
  breaker.settle = (epoch, outcome, now) => {
    if (outcome === 'failure' && isMistaken()) throw new Error('mistake')
    settle(epoch, outcome, now)
  }
  return breaker
}

const TABLE = CASES.flatMap(({ which, part = '', options, ways, shells }) =>
  shells.flatMap(shell => ways.map(way => ({ which, what: `${which}${part}`, shell, way, options }))),
)

describe('functions that users hand in', () => {
  it.each(TABLE)('B16: $shell goes on when $what $way', async ({ which, shell, way, options }) => {
    const { good, safe, health, recorder } = await SHELLS[shell]!(options(WAYS[way] as Fault), refused)
    // A schema that breaks lets nothing through: what nobody has checked becomes a letter.
    const isSchema = which === 'schema'
    expect({ good, safe }).toEqual(isSchema ? { good: 0, safe: BAD + GOOD } : { good: GOOD, safe: BAD })
    expect(health.failures).toBeGreaterThan(0)
    expect(health.last).toMatchObject({ function: which, error: expect.any(String) })
    if (which !== 'observer') {
      const told = recorder.of('userFunctionFailed')
      expect(told.length).toBe(health.failures)
      expect(new Set(told.map(one => one.function))).toEqual(new Set([which]))
    }
  })

  it('B16: a delivery whose settling throws is given back and comes again', async () => {
    const { clock, deadLetters, recorder } = parts()
    const broker = memoryBroker({ clock })
    let mistakes = 25
    const breaker = mistakenBreaker({ failures: 1_000 }, clock, () => mistakes-- > 0)
    const handled: unknown[] = []
    const consumer = createConsumer({
      broker,
      channel: 'orders',
      deadLetters,
      clock,
      observer: recorder.observer,
      retry: { attempts: 1 },
      breaker,
      handle: async ({ payload }) => {
        handled.push(payload)
        if (payload === 'bad') throw refused()
      },
    })
    await consumer.start()
    await broker.publish(names.map(payload => createEvent({ type: 't', channel: 'orders', payload })))
    await clock.advance(1_000)
    expect(handled.filter(payload => payload === 'good')).toHaveLength(GOOD)
    expect(recorder.count('settlementFailed')).toBe(BAD)
    expect(consumer.health()).toMatchObject({ active: 0, waiting: 0, settlementFailures: BAD })
    await clock.advance(10_000)
    expect((await deadLetters.stats()).count).toBe(BAD)
    await consumer.close()
  })

  it('B16: a probe whose settling throws gives its place back to the breaker', async () => {
    const { clock, deadLetters } = parts()
    const broker = memoryBroker({ clock })
    let isMistaken = false
    // A mistake after the handler has ended, and before the breaker is told.
    const mistakenClock: Clock = {
      schedule: (delayMs, run) => clock.schedule(delayMs, run),
      now() {
        if (!isMistaken) return clock.now()
        isMistaken = false
        throw new Error('mistake')
      },
    }
    const attempts: number[] = []
    const consumer = createConsumer({
      broker,
      channel: 'orders',
      deadLetters,
      clock: mistakenClock,
      observer: new Recorder().observer,
      retry: { attempts: 9, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
      breaker: { failures: 1, openMs: 60_000, successes: 1 },
      handle: async () => {
        attempts.push(clock.now())
        isMistaken = attempts.length === 2
        if (attempts.length < 3) throw refused()
      },
    })
    await consumer.start()
    await broker.publish([createEvent({ type: 't', channel: 'orders', payload: 'bad' })])
    await clock.advance(59_000)
    expect(attempts).toHaveLength(1)
    await clock.advance(3_000)
    expect(attempts).toHaveLength(2)
    // Its rest, and not the whole time that the breaker gives a probe that has vanished.
    await clock.advance(6_000)
    expect(attempts).toHaveLength(3)
    expect(consumer.health()).toMatchObject({ breakerState: 'closed', settlementFailures: 1 })
    await consumer.close()
  })

  it('B16: a wrapped handler whose settling throws rejects, so that the message comes again', async () => {
    const { clock, deadLetters } = parts()
    const call = withDeadLetters(() => Promise.reject(refused()), {
      source: 'orders',
      deadLetters,
      clock,
      breaker: mistakenBreaker({ failures: 1_000 }, clock, () => true),
    })
    const ended = expect(call()).rejects.toMatchObject({ name: 'GivenBack' })
    await clock.advance(10_000)
    await ended
    await call.close()
  })

  const HOSTILE = Object.keys(HOSTILE_VALUES).flatMap(what =>
    Object.keys(SHELLS).map(shell => ({ what, shell })),
  )
  it.each(HOSTILE)('B16: $shell settles what threw $what', async ({ what, shell }) => {
    const { good, safe } = await SHELLS[shell]!({}, HOSTILE_VALUES[what]!)
    expect({ good, safe }).toEqual({ good: GOOD, safe: BAD })
  })
})
