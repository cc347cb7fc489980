import { memoryStore } from '../../src/adapters/memory/store.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../src/core/event/event.ts'
import { Scenario } from '../../src/demo/scenario.ts'
import type { ShopStore } from '../../src/demo/shop.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'

export interface DemoWorld {
  readonly clock: FakeClock
  readonly store: ShopStore
  readonly scenario: Scenario
  /** Every published event that is not a replay, in order. */
  readonly published: readonly LazaretEvent[]
  readonly errors: readonly unknown[]
  letters(): Promise<readonly DeadLetter[]>
  close(): Promise<void>
}

/** The demo's scenario in memory, on a clock that the test drives. Letters of payments may be saved only from a time on. */
export async function demoWorld(
  seed = 1,
  { paymentLettersAt = 0 }: { readonly paymentLettersAt?: number } = {},
): Promise<DemoWorld> {
  const clock = new FakeClock()
  const store = memoryStore({ clock }) as ShopStore
  const savedFrom = clock.now() + paymentLettersAt
  const send = store.deadLetters.send.bind(store.deadLetters)
  store.deadLetters.send = async letter => {
    const waitMs = letter.channel === 'payments' ? savedFrom - clock.now() : 0
    if (waitMs > 0) await new Promise<void>(resolve => void clock.schedule(waitMs, resolve))
    await send(letter)
  }
  const published: LazaretEvent[] = []
  const publish = store.broker.publish.bind(store.broker)
  store.broker.publish = async events => {
    published.push(...events.filter(({ headers }) => headers['x-replayed'] === undefined))
    await publish(events)
  }
  const errors: unknown[] = []
  const scenario = new Scenario({ store, clock, seed, onError: error => errors.push(error) })
  await scenario.start()
  return {
    clock,
    store,
    scenario,
    published,
    errors,
    letters: async () => (await store.deadLetters.list({ limit: 1_000 })).letters,
    async close() {
      const closed = scenario.close()
      await clock.advance(60_000)
      await closed
    },
  }
}
