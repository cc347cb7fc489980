import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { quarantines } from '../core/dead-letter/reason.ts'
import type { Clock } from '../ports/clock.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import type { ReplayItem } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'

/** A runner takes the waiting in their order, a few at a time, so what it died with is among the first. */
const WAITING_PAGE = 100
const SENT_PAGE = 500

/**
 * Gives back what a cancelled replay took and did not send, so that no letter stays `replaying` for nobody:
 *
 * - a letter that is `replaying` while its item waits: its runner ended between the two;
 * - a letter whose item is `sent` and did not leave, as far as anyone knows: its runner crashed, or sending failed.
 *
 * To be called once the replay is cancelled, because a runner that lives looks at that after it wrote down what it is
 * about to send, and then does not send it. While a runner lives, what it is sending is its own to give back.
 */
export async function returnUnsentLetters(
  store: Store,
  id: string,
  clock: Clock,
  by: 'the runner' | 'someone else',
): Promise<void> {
  const { replays } = store
  await returnLetters(store, id, await replays.items(id, { status: 'waiting', limit: WAITING_PAGE }), clock)
  const giveBackThose = async () => returnLetters(store, id, await unconfirmedItems(store, id), clock)
  if (by === 'the runner') await giveBackThose()
  else if ((await unconfirmedItems(store, id)).length > 0) await withoutRunner(store, id, clock, giveBackThose)
}

export async function returnLetter(
  deadLetters: DeadLetterStore,
  { id, cycle }: DeadLetter,
  clock: Clock,
): Promise<void> {
  const to = quarantines(cycle.reason) ? 'quarantined' : 'dead'
  await deadLetters.change(id, { to, from: 'replaying', at: clock.now() })
}

/** The items that are written down as sent, and of which nobody knows whether they left. */
async function unconfirmedItems({ replays }: Store, id: string): Promise<readonly ReplayItem[]> {
  const found: ReplayItem[] = []
  let after = -1
  for (;;) {
    const sent = await replays.items(id, { status: 'sent', after, limit: SENT_PAGE })
    found.push(...sent.filter(({ handedOn }) => handedOn === undefined))
    if (sent.length < SENT_PAGE) return found
    after = sent.at(-1)!.position
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
    if (letter?.state !== 'replaying' || letter.replayId !== id) continue
    const { cycle: _, sentAt: __, ...rest } = item
    // First the item: the letter's state must not be taken for the outcome of having been sent.
    if (item.status === 'sent') await replays.record(id, [{ ...rest, status: 'waiting' }])
    await returnLetter(deadLetters, letter, clock)
  }
}

const SHORT_LEASE_MS = 30_000

/** Leaves it to a runner that still has the replay: at its end it does the same. */
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
