import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { TRACKING_CHANNEL } from '../shop/tracking/tracking.ts'
import type { ShopStore } from '../shop.ts'
import { HOUR_MS } from './calendar.ts'
import type { History } from './simulate-history.ts'

/** The time to live of letters of e-mails: an older e-mail is of no use. */
const EMAILS_KEPT_MS = 60 * HOUR_MS

/** Writes a day's history into the store through the public ports. */
export async function writeHistory(
  store: ShopStore,
  { letters, replays, triage, audit, snapshots }: History,
): Promise<void> {
  await Promise.all(letters.map(letter => store.deadLetters.send(asOf(store, letter))))
  // All calls start in order and are awaited together, because a store writes concurrent calls in one batch.
  await Promise.all([
    ...replays.map(({ replay, items }) => store.replays.create(replay, items)),
    ...triage.map(({ group, change }) => store.groups.change(group, change)),
    ...audit.map(entry => store.audit.append(entry)),
    store.snapshots.append(snapshots),
  ])
}

function asOf({ broker }: ShopStore, letter: DeadLetter): DeadLetter {
  // A letter of a sink did not come from a broker.
  if (letter.channel === TRACKING_CHANNEL) return letter
  const origin = { ...letter.origin, broker: broker.name }
  if (letter.channel !== 'emails') return { ...letter, origin }
  return { ...letter, origin, expiresAt: letter.createdAt + EMAILS_KEPT_MS }
}
