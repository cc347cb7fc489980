import { createIdSource } from '../../core/event/uuid.ts'
import type { Clock } from '../../ports/clock.ts'
import type { TrackInput } from '../../runtime/dispatcher/track/track-input.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import type { Track } from '../shop/tracking/track.ts'
import { ARTICLES } from './people.ts'
import { SteadyTraffic } from './steady-traffic.ts'

/** Between two who look at something. */
const EVERY_MS = 400
/** Every so many of them put it into their cart. */
const CARTS = 3
/** When everyone comes at once. */
const BURST = 60
/** Those of a rush are numbered from here, so that the others keep their numbers. */
const EXTRA_FROM = 1_000_000

interface VisitorsOptions {
  readonly clock: Clock
  readonly seed: number
  readonly track: Track
}

/** Those who look around in the shop. Who looks at what depends on the seed and the visitor's number alone. */
export class Visitors extends SteadyTraffic {
  readonly #options: VisitorsOptions
  #extras = 0

  constructor(options: VisitorsOptions, startedAt: number) {
    const { clock, seed, track } = options
    super(
      clock,
      number => startedAt + EVERY_MS * number,
      (number, at) => track(visit(seed, number, at)),
    )
    this.#options = options
  }

  /** Everyone has heard of a bargain, and comes in the same moment. */
  burst(at: number = this.#options.clock.now()): void {
    for (let visitor = 0; visitor < BURST; visitor++) this.visit(at)
  }

  /** One beside the others. */
  visit(at: number = this.#options.clock.now()): void {
    const { track, seed } = this.#options
    track(visit(seed, EXTRA_FROM + this.#extras++, at))
  }
}

function visit(seed: number, number: number, at: number): TrackInput {
  const random = seededRandom(Math.imul(seed + 3, 0x9e3779b1) ^ Math.imul(number + 1, 0xc2b2ae35))
  const { sku } = ARTICLES[Math.floor(random() * ARTICLES.length)]!
  const type = number % CARTS === 0 ? 'cart.filled' : 'page.viewed'
  const visitor = `V-${10_000 + Math.floor(random() * 90_000)}`
  return { type, id: createIdSource(random)(at), occurredAt: at, payload: { visitor, sku } }
}
