import { createIdSource } from '../../core/event/uuid.ts'
import type { Clock } from '../../ports/clock.ts'
import type { TrackInput } from '../../runtime/dispatcher/track/track-input.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import type { Track } from '../shop/tracking/track.ts'
import { ARTICLES } from './people.ts'
import { SteadyTraffic } from './steady-traffic.ts'

/** The time between two visitors. */
const EVERY_MS = 400
/** Every third visitor puts an article into the cart. */
const CARTS = 3
/** The number of visitors in a burst. */
const BURST = 60
/** Extra visitors get numbers from here on, so that the steady visitors keep theirs. */
const EXTRA_FROM = 1_000_000

interface VisitorsOptions {
  readonly clock: Clock
  readonly seed: number
  readonly track: Track
}

/** The visitors of the shop. The seed and the number of a visitor decide which article the visitor looks at. */
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

  /** Many visitors come at the same moment. */
  burst(at: number = this.#options.clock.now()): void {
    for (let visitor = 0; visitor < BURST; visitor++) this.visit(at)
  }

  /** One visitor in addition to the steady ones. */
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
