import { expect, it } from 'vitest'
import { memoryDeadLetters, memorySink, memoryStore } from '../adapters/memory/index.ts'
import type { LetterExpiryOptions } from '../core/dead-letter/expiry.ts'
import type { TimeToLive } from '../core/dead-letter/time-to-live.ts'
import { PermanentError } from '../core/failure/signals.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { createConsumer } from './consumer/consumer.ts'
import { withDeadLetters } from './consumer/with-dead-letters.ts'
import { createDispatcher } from './dispatcher/dispatcher.ts'

const DAY_MS = 86_400_000
const refuse = () => Promise.reject(new PermanentError('no'))

type Option = { readonly expiresAfterMs?: TimeToLive | LetterExpiryOptions }

/** The letter of an event that a consumer, a dispatcher and a wrapped handler give up on. */
const GIVERS_UP: Readonly<Record<string, (clock: FakeClock, option: Option) => Promise<DeadLetterStore>>> = {
  async consumer(clock, option) {
    const store = memoryStore({ clock })
    const { deadLetters } = store
    const broker = store.broker!
    const consumer = createConsumer({
      broker,
      channel: 'orders',
      deadLetters,
      clock,
      handle: refuse,
      ...option,
    })
    await consumer.start()
    await broker.publish([createFactory({ clock }).event({ channel: 'orders' })])
    await clock.advance(100)
    return deadLetters
  },
  async dispatcher(clock, option) {
    const deadLetters = memoryDeadLetters()
    const sinks = { well: memorySink(), sick: { write: refuse } }
    const events = createDispatcher({ sinks, deadLetters, clock, channel: 'orders', ...option })
    await events.track({ type: 'order.paid', payload: {} })
    return deadLetters
  },
  async 'wrapped handler'(clock, option) {
    const deadLetters = memoryDeadLetters()
    const safe = withDeadLetters(refuse, { source: 'orders', deadLetters, clock, ...option })
    await safe()
    return deadLetters
  },
}

for (const [who, giveUp] of Object.entries(GIVERS_UP)) {
  const letterOf = async (option: Option = {}) => {
    const clock = new FakeClock()
    const { letters } = await (await giveUp(clock, option)).list()
    expect(letters).toHaveLength(1)
    return letters[0]!
  }

  it(`K9: a ${who} writes 'never' on its letters unless it is told otherwise`, async () => {
    const letter = await letterOf()
    expect(letter).toMatchObject({ expiresAfterMs: 'never', expiresAt: undefined })
    expect(Object.keys(letter)).toContain('expiresAfterMs')
  })

  it(`R2: a ${who} writes the time to live of the channel and reason on its letters`, async () => {
    const all = await letterOf({ expiresAfterMs: DAY_MS })
    expect(all).toMatchObject({ expiresAfterMs: DAY_MS, expiresAt: all.createdAt + DAY_MS })
    const byReason = await letterOf({ expiresAfterMs: { default: 1, byReason: { permanent: DAY_MS } } })
    expect(byReason.expiresAfterMs).toBe(DAY_MS)
    const byChannel = await letterOf({ expiresAfterMs: { default: 1, byChannel: { orders: 'never' } } })
    expect(byChannel).toMatchObject({ expiresAfterMs: 'never', expiresAt: undefined })
  })
}
