import { isTakenBy, lastSendingOf } from '../core/dead-letter/change.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { quarantines } from '../core/dead-letter/reason.ts'
import type { Clock } from '../ports/clock.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import type { ReplayItem } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { unconfirmedItems } from '../runtime/fleet/open-delivery.ts'

/** A runner takes waiting items in order, a few at a time, so the letters of a crashed runner are among the first. */
const WAITING_PAGE = 100
const PAGE = 500

/**
 * Returns letters that a cancelled replay claimed and did not send, so that no letter stays `replaying`:
 *
 * - a letter that is `replaying` while its item is `waiting`: the runner ended between the two writes;
 * - a letter whose item is `sent` without `handedOn`: the runner crashed, or sending failed;
 * - a letter that the runner gave up: it ended before it returned the letter.
 *
 * The replay must be cancelled first. A live runner records an item, then reads the state, and does not send after a
 * cancel. While a runner is alive, only the runner returns the letters that it is sending. A letter that a process of the fleet
 * may still be sending stays `replaying`, until a later call finds that the delivery is over.
 */
export async function returnUnsentLetters(
  store: Store,
  id: string,
  clock: Clock,
  by: 'the runner' | 'someone else',
): Promise<void> {
  const { replays } = store
  await returnGivenUpLetters(store, id, clock)
  await returnLetters(store, id, await replays.items(id, { status: 'waiting', limit: WAITING_PAGE }), clock)
  const unconfirmed = async () => (await unconfirmedItems(store, id, clock.now())).over
  const returnThose = async () => returnLetters(store, id, await unconfirmed(), clock)
  if (by === 'the runner') await returnThose()
  else if ((await unconfirmed()).length > 0) await withoutRunner(store, id, clock, returnThose)
}

/** Returns the letter unless something else has happened to it since it was read. */
export async function returnLetter(
  deadLetters: DeadLetterStore,
  letter: DeadLetter,
  clock: Clock,
): Promise<void> {
  const to = quarantines(letter.cycle.reason) ? 'quarantined' : 'dead'
  await deadLetters.change(letter.id, { to, at: clock.now(), onlyIfSentBy: lastSendingOf(letter) })
}

/**
 * Returns letters whose items were skipped, if they are still `replaying`: the runner ended before it returned a letter
 * that it gave up, or the store carried out a claim late. Such an item has a `cycle`. Other skipped items have none, because
 * nobody claimed their letters.
 */
export async function returnGivenUpLetters(
  { replays, deadLetters }: Store,
  id: string,
  clock: Clock,
): Promise<void> {
  let after = -1
  for (;;) {
    const skipped = await replays.items(id, { status: 'skipped', after, limit: PAGE })
    for (const { cycle, letterId } of skipped) {
      if (cycle === undefined) continue
      const letter = await deadLetters.get(letterId)
      if (letter !== undefined && isTakenBy(letter, id)) await returnLetter(deadLetters, letter, clock)
    }
    if (skipped.length < PAGE) return
    after = skipped.at(-1)!.position
  }
}

async function returnLetters(
  { replays, deadLetters }: Store,
  id: string,
  items: readonly ReplayItem[],
  clock: Clock,
): Promise<void> {
  for (const item of items) {
    const letter = await deadLetters.get(item.letterId)
    if (letter === undefined || !isTakenBy(letter, id)) continue
    const { cycle: _, sentAt: __, ...rest } = item
    // The item first. Otherwise the new state of the letter would count as an outcome.
    if (item.status === 'sent') await replays.record(id, [{ ...rest, status: 'waiting' }])
    await returnLetter(deadLetters, letter, clock)
  }
}

const SHORT_LEASE_MS = 30_000

/** Runs the work only if no runner has the lease. A runner does the same work when it ends. */
async function withoutRunner(
  { replays }: Store,
  id: string,
  clock: Clock,
  work: () => Promise<void>,
): Promise<void> {
  const holder = `cancel ${clock.now()}`
  if (!(await replays.lease(id, holder, SHORT_LEASE_MS))) return
  try {
    await work()
  } finally {
    await replays.releaseLease(id, holder)
  }
}
