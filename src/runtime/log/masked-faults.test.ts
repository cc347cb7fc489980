import { expect, it } from 'vitest'
import { RecordingLogger } from '../../../test/support/lines.ts'
import { memoryDeadLetters, memorySink } from '../../adapters/memory/index.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { withDeadLetters } from '../consumer/with-dead-letters.ts'
import { createDispatcher } from '../dispatcher/dispatcher.ts'
import { logObserver } from './log-observer.ts'

const SURNAME = 'Wagenknecht'
const MESSAGE = { surname: SURNAME, order: 17 }

/** A user function that quotes a masked value wherever an error has a text. */
function quote(): never {
  const cause = new Error(`nobody is called ${SURNAME}`)
  const error = new Error(`cannot read surname ${SURNAME} of order 17`, { cause })
  throw Object.assign(error, { code: `E_${SURNAME}`, name: `No${SURNAME}` })
}

const notifier = { notify: async () => quote(), close: async () => {} }

it.each([
  ['schema', { schema: { '~standard': { version: 1, vendor: 'own', validate: quote } } }],
  ['describe', { describe: quote }],
  ['filter', { filter: { saveIf: quote } }],
  ['filter', { filter: { never: [quote] } }],
  ['metadata', { metadata: quote }],
  ['autoReplay', { autoReplay: quote }],
  ['classify', { classify: [{ when: () => quote(), category: 'business' }] }],
  ['notifier', { notifier }],
] as const)(
  'E20: a %s that quotes a masked value of its message does not write it to the log',
  async (name, options) => {
    const logger = new RecordingLogger()
    const clock = new FakeClock()
    const handler = withDeadLetters(async (_: unknown) => Promise.reject(new Error('boom')), {
      source: 'orders',
      name: 'billing',
      deadLetters: memoryDeadLetters(),
      retry: { attempts: 1 },
      clock,
      observer: logObserver(logger, { clock }),
      ...(options as object),
    })
    const call = handler(MESSAGE)
    await clock.advance(1_000)
    await call
    expectMasked(logger, name)
    await handler.close()
  },
)

it.each([
  ['filter', { filter: { saveIf: quote } }],
  ['metadata', { metadata: quote }],
  ['autoReplay', { autoReplay: quote }],
  ['critical', { critical: quote }],
  ['bypass', { rateLimit: { perSecond: 1, bypass: { when: quote } } }],
] as const)(
  'E20: a %s of a dispatcher that quotes a masked value does not write it to the log',
  async (name, options) => {
    const logger = new RecordingLogger()
    const clock = new FakeClock()
    const down = { write: () => Promise.reject(new Error('boom')) }
    const events = createDispatcher({
      sinks: { sink: name === 'critical' || name === 'bypass' ? memorySink() : down },
      deadLetters: memoryDeadLetters(),
      retry: { attempts: 1 },
      clock,
      observer: logObserver(logger, { clock }),
      ...(options as object),
    })
    events.track({ type: 'order.placed', payload: MESSAGE }).catch(() => {})
    await clock.advance(1_000)
    expectMasked(logger, name)
    await events.close()
  },
)

it('E20: a store that quotes a masked value of a letter does not write it to the log', async () => {
  const logger = new RecordingLogger()
  const clock = new FakeClock()
  const deadLetters = { send: async () => quote(), close: async () => {} }
  const observer = logObserver(logger, { clock })
  const sinks = { sink: { write: () => Promise.reject(new Error('boom')) } }
  const events = createDispatcher({ sinks, deadLetters, retry: { attempts: 1 }, clock, observer })
  events.track({ type: 'order.placed', payload: MESSAGE }).catch(() => {})
  await clock.advance(1_000)
  const [line] = logger.of('letter_write_failed')
  expect(line!.fields.err).toMatchObject({ type: 'No***', code: 'E_***' })
  expect(JSON.stringify(logger.lines)).not.toContain(SURNAME)
  const closed = events.close()
  await clock.advance(60_000)
  await closed
})

it('E20: faults that come by the thousand are masked once a second, and every line is masked', async () => {
  const logger = new RecordingLogger()
  const clock = new FakeClock()
  let reads = 0
  const payload = {
    get surname() {
      reads++
      return SURNAME
    },
  }
  const event = { headers: {}, payload } as never
  const observer = logObserver(logger, { clock })
  for (let second = 0; second < 120; second++) {
    for (let n = 0; n < 100; n++)
      observer.userFunctionFailed?.({
        name: 'billing',
        function: 'describe',
        error: new Error(SURNAME),
        event,
      })
    await clock.advance(1_000)
  }
  observer.flush()
  expect(logger.count('user_function_failed')).toBe(12_000)
  expect(JSON.stringify(logger.lines)).not.toContain(SURNAME)
  expect(reads).toBeLessThan(500)
})

function expectMasked(logger: RecordingLogger, name: string): void {
  const [line] = logger.of('user_function_failed')
  expect(line!.fields).toMatchObject({
    function: name,
    err: {
      type: 'No***',
      message: 'cannot read surname *** of order 17: nobody is called ***',
      code: 'E_***',
    },
  })
  expect(JSON.stringify(logger.lines)).not.toContain(SURNAME)
}
