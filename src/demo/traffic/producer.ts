import type { Cancel, Clock } from '../../ports/clock.ts'
import { type Flaw, orderEvent } from './order.ts'

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
export class Producer {
  readonly #options: ProducerOptions
  readonly #startedAt: number
  #next = 0
  #extras = 0
  #cancel: Cancel | undefined
  #isClosed = false

  constructor(options: ProducerOptions, startedAt: number) {
    this.#options = options
    this.#startedAt = startedAt
  }

  start(): void {
    this.#schedule()
  }

  /** One order beside the others, with this flaw. */
  async place(flaw: Flaw, at: number = this.#options.clock.now()): Promise<void> {
    const { seed, publish } = this.#options
    const number = EXTRA_FROM + this.#extras++
    await publish(orderEvent({ seed, number, at, flaw }))
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
  }

  #schedule(): void {
    const { clock, seed, publish } = this.#options
    const number = this.#next++
    const late = ((number * 7 + seed) % 11) / 33
    const at = this.#startedAt + Math.round(EVERY_MS * (number + late))
    this.#cancel = clock.schedule(Math.max(0, at - clock.now()), () => {
      // A shop that cannot take an order has been closed: there is nobody left to tell.
      publish(orderEvent({ seed, number, at })).catch(() => {})
      if (!this.#isClosed) this.#schedule()
    })
  }
}
