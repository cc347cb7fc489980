import type { Flaw } from '../traffic/order.ts'

export const HOUR_MS = 3_600_000
export const MINUTE_MS = 60_000

/** A number of orders with the same flaw, spread between two times in hours before now. */
interface Batch {
  readonly flaw: Flaw
  readonly count: number
  readonly from: number
  readonly to: number
}

/** The outage of the warehouse last night: twenty minutes. */
export const OUTAGE = { from: 9.4, to: 9.07 } as const

/** The sale, at whose end analytics was unreachable. */
export const SALE = { from: 20.5, to: 20.48 } as const

/** The failed orders of the last 40 hours. Orders that succeeded leave no letters, so the history omits them. */
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
  // This order comes in the middle of the others, so that its second failure does not halt their replay.
  { flaw: 'unknown-article', count: 1, from: OUTAGE.from - 0.07, to: OUTAGE.from - 0.08 },
]

interface PastOrder {
  readonly flaw: Flaw
  readonly at: number
}

/** The orders of all batches, oldest first. Each gets a random time within its share of the batch. */
export function pastOrders(now: number, random: () => number): readonly PastOrder[] {
  return BATCHES.flatMap(({ flaw, count, from, to }) =>
    Array.from({ length: count }, (_, index) => {
      const hoursAgo = from - ((from - to) * (index + random())) / count
      return { flaw, at: now - Math.round(hoursAgo * HOUR_MS) }
    }),
  ).sort((a, b) => a.at - b.at)
}
