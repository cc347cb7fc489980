import type { Clock } from '../../ports/clock.ts'
import type { LetterStats } from '../../ports/dead-letters.ts'
import type { Federation } from './federation.ts'
import type { DeadLetterDepths, QueueDepths } from './queue-depths.ts'
import { SingleFlight } from './single-flight.ts'

const PROBE_EVERY_MS = 1_000

/** The result for the stores. It names a store that is down and no details, because callers need no token. */
interface StoreCheck {
  readonly stats: readonly LetterStats[]
  readonly down: readonly string[]
}

/** The letters in stores and the messages in dead-letter queues, counted at the same moment. */
interface LetterCheck {
  readonly stores: StoreCheck
  readonly queues: DeadLetterDepths
}

/**
 * Runs the health checks of the server. They need no token, so anyone may call them often: the stores and brokers are
 * never queried twice at once, and each kind of check queries them at most once a second.
 */
export class HealthCheck {
  readonly #stores: SingleFlight<StoreCheck>
  readonly #letters: SingleFlight<LetterCheck>

  constructor(stores: Federation, depths: QueueDepths, clock: Clock) {
    this.#stores = new SingleFlight(clock, PROBE_EVERY_MS, () => askStores(stores))
    this.#letters = new SingleFlight(clock, PROBE_EVERY_MS, async () => {
      // A collector moves letters from queues to stores. Counts from two different moments would count a letter twice,
      // or not at all.
      const [found, queues] = await Promise.all([this.#stores.getNow(), depths.read()])
      return { stores: found, queues }
    })
  }

  /** Checks whether the stores answer. It does not wait for brokers. */
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
