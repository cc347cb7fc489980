import { createIdSource } from '../../core/event/uuid.ts'
import type { Clock } from '../../ports/clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { stockReport } from '../shop/tracking/track.ts'
import type { Shop } from '../shop.ts'
import { Visitors } from '../traffic/visitors.ts'
import { HOUR_MS, SALE } from './calendar.ts'

const FAILING_AFTER_MS = 10_000
const LOOKING_EVERY_MS = 250
const LOOKING = 40

/** Simulates a sale: a burst of visitors, then an outage of analytics. Its letters have the causes that the demo shows today. */
export function scheduleSale(clock: Clock, { tracking }: Shop, seed: number, now: number): void {
  const { track, analytics } = tracking
  const visitors = new Visitors({ clock, seed: seed + 7, track }, now)
  const newId = createIdSource(seededRandom(seed + 79))
  const begun = now - Math.round(SALE.from * HOUR_MS)
  const ended = now - Math.round(SALE.to * HOUR_MS)
  const at = (time: number, act: () => void) => clock.schedule(time - clock.now(), act)
  at(begun, () => visitors.burst(begun))
  at(begun + FAILING_AFTER_MS, () => {
    analytics.isFailing = true
  })
  for (let visitor = 1; visitor <= LOOKING; visitor++) {
    const comes = begun + FAILING_AFTER_MS + visitor * LOOKING_EVERY_MS
    at(comes, () => visitors.visit(comes))
  }
  const reported = begun + FAILING_AFTER_MS + LOOKING * LOOKING_EVERY_MS
  at(reported, () => stockReport(track, newId(reported), reported))
  at(ended, () => {
    analytics.isFailing = false
  })
}
