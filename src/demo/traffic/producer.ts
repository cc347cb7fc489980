import type { Clock } from '../../ports/clock.ts'
import { type Flaw, orderEvent } from './order.ts'
import { SteadyTraffic } from './steady-traffic.ts'

/** The time between two orders. Each order comes late by up to a third of it. */
const EVERY_MS = 550
/** Extra orders get numbers from here on, so that the steady orders keep theirs. */
const EXTRA_FROM = 40_000

interface ProducerOptions {
  readonly clock: Clock
  readonly seed: number
  readonly publish: (order: ReturnType<typeof orderEvent>) => Promise<void>
}

/**
 * Orders at a steady rate. The seed, the number and the start time decide the content and the time of each order, so late
 * timers of a busy machine do not change the data.
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
      // Publishing fails only after the shop has closed, and then nobody needs the error.
      (number, at) => void publish(orderEvent({ seed, number, at })).catch(() => {}),
    )
    this.#options = options
  }

  /** Places one extra order with this flaw. */
  async place(flaw: Flaw, at: number = this.#options.clock.now()): Promise<void> {
    const { seed, publish } = this.#options
    const number = EXTRA_FROM + this.#extras++
    await publish(orderEvent({ seed, number, at, flaw }))
  }
}
