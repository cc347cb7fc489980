import { expect, it } from 'vitest'
import { memoryDeadLetters, memorySink, memoryStore } from '../adapters/memory/index.ts'
import { OptionsError } from '../core/options/faults.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { createConsumer } from './consumer/consumer.ts'
import { withDeadLetters } from './consumer/with-dead-letters.ts'
import { createDispatcher } from './dispatcher/dispatcher.ts'
import type { CommonOptions } from './option-rules.ts'

const refused = () =>
  Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
const once = { attempts: 1 }

type Option = Pick<CommonOptions, 'autoReplay' | 'replayLimit'>

/** The letters of an event that a consumer, a dispatcher and a wrapped handler give up on because of a transient error. */
const GIVERS_UP: Readonly<Record<string, (clock: FakeClock, option: Option) => Promise<DeadLetterStore>>> = {
  async consumer(clock, option) {
    const { deadLetters, broker } = memoryStore({ clock })
    const handled = { channel: 'orders', deadLetters, clock, retry: once, handle: refused }
    await createConsumer({ broker: broker!, ...handled, ...option }).start()
    await broker!.publish([createFactory({ clock }).event({ channel: 'orders' })])
    await clock.advance(100)
    return deadLetters
  },
  async dispatcher(clock, option) {
    const deadLetters = memoryDeadLetters()
    const sinks = { well: memorySink(), sick: { write: refused } }
    const events = createDispatcher({ sinks, deadLetters, clock, retry: once, ...option })
    await events.track({ type: 'order.paid', payload: {} })
    return deadLetters
  },
  async 'wrapped handler'(clock, option) {
    const deadLetters = memoryDeadLetters()
    await withDeadLetters(refused, { source: 'orders', deadLetters, clock, retry: once, ...option })()
    return deadLetters
  },
}

for (const [who, giveUp] of Object.entries(GIVERS_UP)) {
  const marked = async (option: Option) => {
    const { letters } = await (await giveUp(new FakeClock(), option)).list()
    expect(letters).toHaveLength(1)
    return letters[0]!.autoReplay
  }

  it(`R3: a letter of a ${who} is eligible for automatic replay only if the policy says so`, async () => {
    expect(await marked({})).toBeUndefined()
    expect(await marked({ autoReplay: [] })).toBeUndefined()
    expect(await marked({ autoReplay: ['business', 'schema'] })).toBeUndefined()
    expect(await marked({ autoReplay: ['business', 'transient'] })).toBe(true)
    expect(await marked({ autoReplay: ({ cycle }) => cycle.reason === 'attempts_exhausted' })).toBe(true)
    expect(await marked({ autoReplay: ({ cycle }) => cycle.reason === 'poison' })).toBeUndefined()
  })

  it(`R3: a function of a ${who} that throws or returns a promise allows nothing`, async () => {
    const broken = () => {
      throw new Error('broken')
    }
    expect(await marked({ autoReplay: broken })).toBeUndefined()
    expect(await marked({ autoReplay: (async () => true) as never })).toBeUndefined()
    expect(await marked({ autoReplay: (() => 'yes') as never })).toBeUndefined()
  })
}

it('F7: refuses unknown categories and wrong limits, all at once', () => {
  const wrong = {
    autoReplay: ['transiant'],
    replayLimit: { default: 0, byChannel: { orders: 'x' } },
  } as never
  const create = () =>
    withDeadLetters(refused, Object.assign({ source: 'a', deadLetters: memoryDeadLetters() }, wrong))
  expect(create).toThrow(OptionsError)
  expect(create).toThrow(/autoReplay\[0\].*replayLimit\.default.*replayLimit\.byChannel\.orders/s)
})
