import { memoryStore } from '../../adapters/memory/store.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { createIdSource } from '../../core/event/uuid.ts'
import type { AuditEntry } from '../../ports/audit.ts'
import type { TriageChange } from '../../ports/groups.ts'
import type { Replay, ReplayItem } from '../../ports/replays.ts'
import type { ChannelSnapshot } from '../../ports/snapshots.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { openShop, type Shop, type ShopStore } from '../shop.ts'
import { orderEvent } from '../traffic/order.ts'
import { HOUR_MS, MINUTE_MS, OUTAGE, pastOrders } from './calendar.ts'
import { OnCallTeam } from './on-call-team.ts'
import { scheduleSale } from './sale.ts'
import { takeSnapshots } from './take-snapshots.ts'

/** Longer than a day, so that some causes are old and some letters are over the age limit of replays. */
export const HISTORY_MS = 40 * HOUR_MS
const MUTED_MS = 72 * HOUR_MS

const NOTES = {
  outage: { owner: 'jonas', note: 'The warehouse restarts after its update.' },
  outageOver: { note: 'All sent again. The remaining letters have another cause.' },
  emails: { note: 'Typing mistakes of customers. The form will check addresses from next week on.' },
  partner: {
    owner: 'ada',
    link: 'https://tickets.example.com/SHOP-1412',
    note: 'Bazaar sends quantities as words. They know.',
  },
  catalogue: { owner: 'ada', note: 'The catalogue was imported again.' },
} as const

/** The records that a simulated day leaves. */
export interface History {
  readonly letters: readonly DeadLetter[]
  readonly replays: readonly { readonly replay: Replay; readonly items: readonly ReplayItem[] }[]
  readonly triage: readonly { readonly group: string; readonly change: TriageChange }[]
  /** Oldest first. */
  readonly audit: readonly AuditEntry[]
  readonly snapshots: readonly ChannelSnapshot[]
}

/**
 * Simulates the last 40 hours: the same shop with the same handlers, in memory, on a fake clock that starts in the past.
 * The letters come from real handlers, so the letters of today get the same groups.
 */
export async function simulateHistory(now: number, seed: number): Promise<History> {
  const clock = new FakeClock(now - HISTORY_MS)
  const store = memoryStore({ clock }) as ShopStore
  const random = seededRandom(seed + 1)
  const shop = openShop({ store, clock, seed, observer: {} })
  const team = new OnCallTeam(store, shop.replayTarget, clock, createIdSource(random))
  const at = (hoursAgo: number, act: () => unknown) =>
    clock.schedule(now - Math.round(hoursAgo * HOUR_MS) - clock.now(), () => void act())

  await shop.start()
  const orders = pastOrders(now, random)
  orders.forEach(({ flaw, at: placedAt }, index) => {
    const order = orderEvent({ seed, number: index - orders.length, at: placedAt, flaw })
    clock.schedule(placedAt - clock.now(), () => void shop.publish(order))
  })
  scheduleSale(clock, shop, seed, now)
  scheduleHistory(at, shop, team, now)
  const snapshots = takeSnapshots(store, clock)
  await clock.advance(HISTORY_MS)
  const past = { ...(await readHistory(store)), triage: team.triageChanges, snapshots: [...snapshots] }
  const closed = shop.close()
  await clock.advance(MINUTE_MS)
  await closed
  return past
}

/** Schedules the outage and the actions of the people on call, in hours before now. */
function scheduleHistory(
  at: (hoursAgo: number, act: () => unknown) => unknown,
  { services: { warehouse } }: Shop,
  team: OnCallTeam,
  now: number,
): void {
  const outage = { search: 'not available' }
  const missing = { search: 'no article' }
  const planner = { search: 'route planner' }
  const muted = { by: 'mira', state: 'muted', mutedUntil: now + MUTED_MS, ...NOTES.emails } as const
  at(19.8, () => team.replay('jonas', 'analytics is back', { channel: 'tracking', handler: 'analytics' }))
  at(19.5, () => team.discard('jonas', 'carts of yesterday', { channel: 'tracking', type: 'cart.filled' }))
  at(OUTAGE.from, () => {
    warehouse.isFailing = true
  })
  at(OUTAGE.to, () => {
    warehouse.isFailing = false
  })
  at(8.8, () => team.triage(outage, { by: 'jonas', state: 'acknowledged', ...NOTES.outage }))
  at(8.5, () => team.replay('jonas', 'the warehouse is back', outage))
  at(8.2, () => team.triage(outage, { by: 'jonas', state: 'resolved', ...NOTES.outageOver }))
  at(19, () => team.triage({ channel: 'emails' }, muted))
  at(11.5, () => team.discard('mira', 'customers were called', { channel: 'emails' }))
  at(7, () => team.triage({ reason: 'schema' }, { by: 'ada', state: 'acknowledged', ...NOTES.partner }))
  at(5, () => team.triage(missing, { by: 'ada', state: 'resolved', ...NOTES.catalogue }))
  at(4.8, () => team.discard('ada', 'refunded by hand', missing))
  at(4, () => team.discard('mira', 'the customer pays another way', { search: 'declined' }))
  // Three replays are the limit. After the third failure the letter is parked.
  for (const hoursAgo of [16, 15.5, 15])
    at(hoursAgo, () => team.replay('mira', 'is the route planner back?', planner, 1))
}

async function readHistory(store: ShopStore): Promise<Pick<History, 'letters' | 'replays' | 'audit'>> {
  const { letters } = await store.deadLetters.list({ limit: 1_000 })
  const replays = (await store.replays.list({ limit: 100 })).toReversed()
  const { entries } = await store.audit.list({ limit: 1_000 })
  return {
    letters: letters.toReversed(),
    replays: await Promise.all(
      replays.map(async replay => ({ replay, items: await store.replays.items(replay.id) })),
    ),
    audit: entries.toReversed(),
  }
}
