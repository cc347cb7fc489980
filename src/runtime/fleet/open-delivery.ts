import type { CommandRecord } from '../../ports/commands.ts'
import type { ReplayItem } from '../../ports/replays.ts'
import type { Store } from '../../ports/store.ts'
import { GIVE_UP_MS } from './deliver.ts'

const PAGE = 500
/** A process that has given up, or has just sent its last letter, has this time to record that and to answer. */
const ANSWER_MS = 5_000
/** A process that took a delivery this long ago has answered, or never will. Nothing sends its letters any more. */
export const OVER_AFTER_MS = GIVE_UP_MS + ANSWER_MS

/**
 * Whether a process may still be sending the letters of a delivery: somebody can still take the command, or has taken it less
 * than `OVER_AFTER_MS` ago and has not answered. A process that left the fleet, or that the fleet believes to be gone, can
 * still be waiting for its broker, so the state of the process does not count.
 *
 * The store states the age of the claim by its own clock. `atMostMs` is for a caller that knows by a clock that never steps
 * that the claim cannot be older.
 */
export function mayBeSending(
  record: CommandRecord | undefined,
  now: number,
  atMostMs = Number.POSITIVE_INFINITY,
): boolean {
  if (record === undefined || record.outcome !== undefined || record.state === 'expired') return false
  const { claimedBy, claimedAt = record.sentAt } = record
  if (claimedBy === undefined) return true
  // A store without an age leaves only its clock and ours. The absolute difference also covers a clock that was set back.
  const { claimedAgoMs = Math.abs(now - claimedAt) } = record
  return Math.min(claimedAgoMs, atMostMs) < OVER_AFTER_MS
}

/** Items that are recorded as sent, without a confirmation that they were sent. */
interface UnconfirmedItems {
  /** A process of the fleet may still be sending these. */
  readonly underWay: readonly ReplayItem[]
  /** No process of the fleet sends these any more. */
  readonly over: readonly ReplayItem[]
}

export async function unconfirmedItems(
  { replays, commands }: Pick<Store, 'replays' | 'commands'>,
  id: string,
  now: number,
): Promise<UnconfirmedItems> {
  const found: ReplayItem[] = []
  let after = -1
  for (;;) {
    const sent = await replays.items(id, { status: 'sent', after, limit: PAGE })
    found.push(...sent.filter(({ handedOn }) => handedOn === undefined))
    if (sent.length < PAGE) break
    after = sent.at(-1)!.position
  }
  const open = new Set<string | undefined>()
  for (const delivery of new Set(found.flatMap(item => item.delivery ?? []))) {
    const [record] = (await commands?.get(delivery)) ?? []
    if (mayBeSending(record, now)) open.add(delivery)
  }
  return {
    underWay: found.filter(({ delivery }) => open.has(delivery)),
    over: found.filter(({ delivery }) => !open.has(delivery)),
  }
}
