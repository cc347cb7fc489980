import type { Clock } from '../../ports/clock.ts'
import type { LetterStats } from '../../ports/dead-letters.ts'
import type { Federation } from './federation.ts'
import type { DeadLetterDepths, QueueDepths } from './queue-depths.ts'
import { SingleFlight } from './single-flight.ts'

const PROBE_EVERY_MS = 1_000

/** What a probe says of the stores. It names a store that is down and says nothing else of it: anyone may ask. */
interface StoreCheck {
  readonly stats: readonly LetterStats[]
  readonly down: readonly string[]
}

/** The letters in stores and the messages in dead-letter queues, both of one moment. */
interface LetterCheck {
  readonly stores: StoreCheck
  readonly queues: DeadLetterDepths
}

/**
 * Answers health probes without a token. For any number of probes, stores and brokers never get two requests at the
 * same time, and each kind of probe asks them at most once a second.
 */
export class HealthCheck {
  readonly #stores: SingleFlight<StoreCheck>
  readonly #letters: SingleFlight<LetterCheck>

  constructor(stores: Federation, depths: QueueDepths, clock: Clock) {
    this.#stores = new SingleFlight(clock, PROBE_EVERY_MS, () => askStores(stores))
    this.#letters = new SingleFlight(clock, PROBE_EVERY_MS, async () => {
      // A collector moves letters from queues to stores. StatsCache of two moments would count one twice, or not at all.
      const [found, queues] = await Promise.all([this.#stores.getNow(), depths.read()])
      return { stores: found, queues }
    })
  }

  /** Whether the stores answer. It waits for no broker. */
  checkStores(): Promise<StoreCheck> {
    return this.#stores.get()
  }

  checkLetters(): Promise<LetterCheck> {
    return this.#letters.get()
  }
}

function askStores(stores: Federation): Promise<StoreCheck> {
  return stores
    .each(({ store }) => store.deadLetters.stats())
    .then(
      ({ found, faults }) => ({
        stats: found.map(({ value }) => value),
        down: faults.map(each => each.store),
      }),
      () => ({ stats: [], down: stores.all.map(({ name }) => name) }),
    )
}
