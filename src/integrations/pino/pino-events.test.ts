import pino from 'pino'
import { describe, expect, it } from 'vitest'
import { memoryDeadLetters, memorySink } from '../../adapters/memory/index.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Observer } from '../../ports/observer.ts'
import type { Sink } from '../../ports/sink.ts'
import { createDispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import type { DispatcherOptions } from '../../runtime/dispatcher/dispatcher-options.ts'
import { failureLog } from '../../runtime/failure-log.ts'
import { logObserver } from '../../runtime/log/log-observer.ts'
import { recordingDeadLetters } from '../../testing/dead-letters.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { type PinoEvents, pinoEvents } from './index.ts'

const MANY = 1_000

function flushed(logger: pino.Logger): Promise<void> {
  return new Promise((resolve, reject) => logger.flush(error => (error ? reject(error) : resolve())))
}

/** A logger whose lines become events. The sink and the observer can log with it themselves. */
function setUp(
  sinkOf: (log: () => pino.Logger) => Sink,
  {
    observerOf,
    ...options
  }: Partial<DispatcherOptions> & {
    readonly observerOf?: (log: () => pino.Logger) => Observer
  } = {},
) {
  let logger: pino.Logger | undefined
  const log = () => logger!
  const deadLetters = memoryDeadLetters()
  const events = createDispatcher({
    sinks: { sink: sinkOf(log) },
    deadLetters,
    observer: observerOf?.(log) ?? {},
    ...options,
  })
  const bridge: PinoEvents = pinoEvents(events)
  logger = pino({ level: 'trace' }, bridge)
  return { logger, bridge, events, deadLetters }
}

describe('pino in this process', () => {
  it('E17: every line becomes an event, with its level, message and error', async () => {
    const sink = memorySink()
    const { logger, events } = setUp(() => sink)
    logger.info({ orderId: 3 }, 'order %d paid', 3)
    logger.child({ module: 'mail' }).error(new Error('refused'), 'no mail')
    await flushed(logger)
    expect(sink.events.map(({ type, headers }) => [type, headers['severity']])).toEqual([
      ['log.info', 'info'],
      ['log.error', 'error'],
    ])
    expect(sink.events[0]!.payload).toMatchObject({ orderId: 3, msg: 'order 3 paid' })
    expect(sink.events[1]!.payload).toMatchObject({
      module: 'mail',
      msg: 'no mail',
      err: { type: 'Error', message: 'refused', stack: expect.stringContaining('Error: refused') },
    })
    await events.close()
  })

  it('E21: a line that is too large for an event, or too deep, is kept in part', async () => {
    const sink = memorySink()
    const { logger, events } = setUp(() => sink)
    logger.info({ big: 'x'.repeat(2_000_000) }, 'big')
    let deep: object = {}
    for (let depth = 0; depth < 100; depth++) deep = { deep }
    pinoEvents(events).write(`${JSON.stringify({ level: 30, deep })}\n`)
    await flushed(logger)
    expect(sink.events.map(({ type }) => type)).toEqual(['log.unparsed', 'log.unparsed'])
    expect(sink.events[0]!.payload).toMatchObject({ cutFrom: expect.any(Number) })
    await events.close()
  })

  it('E17: a dead sink holds up nobody, and memory is bounded by the buffer; the rest is in the DLQ', async () => {
    const deadLetters = recordingDeadLetters()
    const { logger, events } = setUp(() => ({ write: () => new Promise(() => {}) }), {
      deadLetters,
      buffer: { maxEvents: 100 },
    })
    for (let n = 0; n < MANY; n++) logger.info('line %d', n)
    expect(events.health().sinks['sink']!.buffered).toBeLessThanOrEqual(100)
    await events.close({ graceMs: 0 })
    expect(deadLetters.count).toBe(MANY)
  })

  it('E21: a sink that logs its failures with the same logger does not cause an endless loop', async () => {
    let writes = 0
    const { logger, events, bridge } = setUp(
      log => ({
        write: async () => {
          writes++
          log().error('the sink is down')
          await Promise.resolve()
          log().error('the sink is still down')
          throw Object.assign(new Error('no'), { status: 400 })
        },
      }),
      { breaker: 'off' },
    )
    logger.info('one line')
    await flushed(logger)
    await flushed(logger)
    expect([writes, bridge.skipped]).toEqual([1, 2])
    await events.close()
  })

  it('E21: nor does an observer that logs every failure', async () => {
    const { logger, events, deadLetters, bridge } = setUp(
      () => ({ write: () => Promise.reject(Object.assign(new Error('no'), { status: 400 })) }),
      {
        breaker: 'off',
        observerOf: log => ({
          ...failureLog(line => log().error(line)),
          attemptFailed: () => log().warn('an attempt failed'),
          trackingFailureSwallowed: () => log().error('not tracked'),
        }),
      },
    )
    logger.info('one line')
    await flushed(logger)
    await flushed(logger)
    const letters = await lettersIn(deadLetters)
    expect(letters.map(({ event }) => event.type)).toEqual(['log.info'])
    expect(bridge.skipped).toBeGreaterThanOrEqual(2)
    await events.close()
  })

  it('E21: nor do lines about tracking that are written later in a batch', async () => {
    const clock = new FakeClock()
    const sink = memorySink()
    const { logger, events, bridge } = setUp(() => sink, {
      clock,
      deadLetters: { send: () => Promise.reject(new Error('no store')), close: async () => {} },
      rateLimit: { perSecond: 1 },
      observerOf: log => logObserver(levels(log), { clock, repeatMs: 1_000 }),
    })
    await events.track({ type: 'order.paid' })
    for (let n = 0; n < 100; n++) await events.track({ type: 'order.paid' }, { onFailure: 'swallow' })
    for (let second = 0; second < 10; second++) {
      await clock.advance(1_000)
      await events.track({ type: 'order.paid' })
    }
    await flushed(logger)
    expect(new Set(sink.events.map(({ type }) => type))).toEqual(new Set(['order.paid']))
    // Limited, not written, swallowed: at first, and once more with the count of the rest.
    expect(bridge.skipped).toBeGreaterThanOrEqual(6)
    await events.close()
  })

  it('E17: code that awaits an event logs as before', async () => {
    const sink = memorySink()
    const { logger, events } = setUp(() => sink)
    await events.track({ type: 'order.paid' })
    logger.info('order paid')
    await flushed(logger)
    expect(sink.events.map(({ type }) => type)).toEqual(['order.paid', 'log.info'])
    await events.close()
  })

  it('E17: faults in the options are found at once', () => {
    expect(() => pinoEvents({} as never, { type: '' })).toThrow(/pinoEvents\.type/)
  })
})

/** The logger is made after its dispatcher. */
function levels(log: () => pino.Logger): Logger {
  return {
    debug: (fields, message) => log().debug(fields, message),
    info: (fields, message) => log().info(fields, message),
    warn: (fields, message) => log().warn(fields, message),
    error: (fields, message) => log().error(fields, message),
  }
}

async function lettersIn(deadLetters: ReturnType<typeof memoryDeadLetters>) {
  return (await deadLetters.list({ limit: 1_000 })).letters
}
