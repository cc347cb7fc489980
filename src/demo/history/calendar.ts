import type { Flaw } from '../traffic/order.ts'

export const HOUR_MS = 3_600_000
export const MINUTE_MS = 60_000

/** So many orders with a flaw, spread between two times that are given in hours before now. */
interface Batch {
  readonly flaw: Flaw
  readonly count: number
  readonly from: number
  readonly to: number
}

/** The night the warehouse was away for twenty minutes. */
export const OUTAGE = { from: 9.4, to: 9.07 } as const

/** The evening of a bargain, at whose end analytics was away. */
export const SALE = { from: 20.5, to: 20.48 } as const

/** What came in since the day before yesterday and did not go well, beside the many orders that did. */
const BATCHES: readonly Batch[] = [
  { flaw: 'bad-address', count: 9, from: 39, to: 24.5 },
  { flaw: 'declined', count: 6, from: 38, to: 25 },
  { flaw: 'unroutable', count: 2, from: 37, to: 27 },
  { flaw: 'bad-address', count: 26, from: 23.5, to: 1.2 },
  { flaw: 'bad-address', count: 5, from: 0.95, to: 0.05 },
  { flaw: 'declined', count: 13, from: 23, to: 0.3 },
  { flaw: 'unknown-article', count: 5, from: 22, to: 10 },
  { flaw: 'unknown-article', count: 3, from: 8, to: 6 },
  { flaw: 'wrong-shape', count: 7, from: 14, to: 0.8 },
  { flaw: 'unroutable', count: 4, from: 8, to: 2 },
  { flaw: 'impossible-date', count: 2, from: 17, to: 3 },
  { flaw: 'none', count: 44, from: OUTAGE.from - 0.01, to: OUTAGE.to + 0.05 },
  // In the midst of the others, so that its failing again does not halt their replay.
  { flaw: 'unknown-article', count: 1, from: OUTAGE.from - 0.07, to: OUTAGE.from - 0.08 },
]

interface PastOrder {
  readonly flaw: Flaw
  readonly at: number
}

/** Those orders, oldest first. Chance moves each within its share of the time. */
export function pastOrders(now: number, random: () => number): readonly PastOrder[] {
  return BATCHES.flatMap(({ flaw, count, from, to }) =>
    Array.from({ length: count }, (_, index) => {
      const hoursAgo = from - ((from - to) * (index + random())) / count
      return { flaw, at: now - Math.round(hoursAgo * HOUR_MS) }
    }),
  ).sort((a, b) => a.at - b.at)
}
