import { memoryBroker, memoryDeadLetters } from '../../src/adapters/memory/index.ts'
import { createEvent, type EventInput } from '../../src/core/event/event.ts'
import { createIdSource } from '../../src/core/event/uuid.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import type { ConsumerOptions } from '../../src/runtime/consumer/consumer-options.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { Recorder } from '../../src/testing/recorder.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'

export const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

/** A consumer on the memory adapters and a driven clock, with what a test wants to look at. */
export function consumerWorld(options: Partial<ConsumerOptions> = {}) {
  const clock = (options.clock as FakeClock | undefined) ?? new FakeClock()
  const random = seededRandom(7)
  const recorder = new Recorder()
  const broker = memoryBroker({ clock })
  const deadLetters = memoryDeadLetters()
  const newId = createIdSource(random)
  const handled: string[] = []
  const consumer = createConsumer({
    broker,
    channel: 'orders',
    deadLetters,
    clock,
    random,
    observer: recorder.observer,
    handle: async event => {
      handled.push(String(event.payload))
    },
    ...options,
  })
  const publish = (...payloads: (string | Partial<EventInput>)[]) =>
    broker.publish(
      payloads.map(given => {
        const input = typeof given === 'string' ? { payload: given } : given
        return createEvent({ type: 'order.placed', channel: 'orders', ...input }, { now: clock.now(), newId })
      }),
    )
  const letters = async () => (await deadLetters.list()).letters
  return { clock, recorder, broker, deadLetters, consumer, publish, handled, letters }
}
