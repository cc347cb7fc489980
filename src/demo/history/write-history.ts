import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { TRACKING_CHANNEL } from '../shop/tracking/tracking.ts'
import type { ShopStore } from '../shop.ts'
import { HOUR_MS } from './calendar.ts'
import type { History } from './simulate-history.ts'

/** E-mails that nobody sent for so long need not be sent any more. */
const EMAILS_KEPT_MS = 60 * HOUR_MS

/** Writes a day's history into the store through the public ports. */
export async function writeHistory(
  store: ShopStore,
  { letters, replays, triage, audit, snapshots }: History,
): Promise<void> {
  await Promise.all(letters.map(letter => store.deadLetters.send(asOf(store, letter))))
  // Asked for in their order and not one after the other: a store writes down together what it is asked together.
  await Promise.all([
    ...replays.map(({ replay, items }) => store.replays.create(replay, items)),
    ...triage.map(({ group, change }) => store.groups.change(group, change)),
    ...audit.map(entry => store.audit.append(entry)),
    store.snapshots.append(snapshots),
  ])
}

function asOf({ broker }: ShopStore, letter: DeadLetter): DeadLetter {
  // What a sink left came from no broker.
  if (letter.channel === TRACKING_CHANNEL) return letter
  const origin = { ...letter.origin, broker: broker.name }
  if (letter.channel !== 'emails') return { ...letter, origin }
  return { ...letter, origin, expiresAt: letter.createdAt + EMAILS_KEPT_MS }
}
