import { createIdSource } from '../../core/event/uuid.ts'
import type { Clock } from '../../ports/clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { stockReport } from '../shop/tracking/track.ts'
import type { Shop } from '../shop.ts'
import { Visitors } from '../traffic/visitors.ts'
import { BARGAIN, HOUR_MS } from './calendar.ts'

const SICK_AFTER_MS = 10_000
const LOOKING_EVERY_MS = 250
const LOOKING = 40

/** Everyone came at once, and then analytics was away: what the sinks left has causes that are known today. */
export function bargainEvening(clock: Clock, { emitting }: Shop, seed: number, now: number): void {
  const { track, analytics } = emitting
  const visitors = new Visitors({ clock, seed: seed + 7, track }, now)
  const newId = createIdSource(seededRandom(seed + 79))
  const begun = now - Math.round(BARGAIN.from * HOUR_MS)
  const ended = now - Math.round(BARGAIN.to * HOUR_MS)
  const at = (time: number, act: () => void) => clock.schedule(time - clock.now(), act)
  at(begun, () => visitors.rush(begun))
  at(begun + SICK_AFTER_MS, () => {
    analytics.isSick = true
  })
  for (let visitor = 1; visitor <= LOOKING; visitor++) {
    const comes = begun + SICK_AFTER_MS + visitor * LOOKING_EVERY_MS
    at(comes, () => visitors.come(comes))
  }
  const reported = begun + SICK_AFTER_MS + LOOKING * LOOKING_EVERY_MS
  at(reported, () => stockReport(track, newId(reported), reported))
  at(ended, () => {
    analytics.isSick = false
  })
}
