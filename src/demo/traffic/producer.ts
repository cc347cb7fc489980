import type { Clock } from '../../ports/clock.ts'
import { type Flaw, orderEvent } from './order.ts'
import { SteadyTraffic } from './steady-traffic.ts'

/** Between two orders; each comes up to a third of it late. */
const EVERY_MS = 550
/** Orders that someone asked for are numbered from here, so that the others keep their numbers. */
const EXTRA_FROM = 40_000

interface ProducerOptions {
  readonly clock: Clock
  readonly seed: number
  readonly publish: (order: ReturnType<typeof orderEvent>) => Promise<void>
}

/**
 * Orders at a calm, steady rate. What an order is and when it was placed depends on the seed, its number and the start
 * alone; that timers of a busy machine are late shows nowhere in it.
 */
export class Producer extends SteadyTraffic {
  readonly #options: ProducerOptions
  #extras = 0

  constructor(options: ProducerOptions, startedAt: number) {
    const { clock, seed, publish } = options
    const lateness = (number: number) => ((number * 7 + seed) % 11) / 33
    super(
      clock,
      number => startedAt + Math.round(EVERY_MS * (number + lateness(number))),
      // A shop that cannot take an order has been closed: there is nobody left to tell.
      (number, at) => void publish(orderEvent({ seed, number, at })).catch(() => {}),
    )
    this.#options = options
  }

  /** One order beside the others, with this flaw. */
  async place(flaw: Flaw, at: number = this.#options.clock.now()): Promise<void> {
    const { seed, publish } = this.#options
    const number = EXTRA_FROM + this.#extras++
    await publish(orderEvent({ seed, number, at, flaw }))
  }
}
