import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import { DELIVERY_MS } from '../runtime/fleet/deliver.ts'

/**
 * A living process that no longer begins to send has this time to record the letter that it sent last. Its broker may be slow,
 * and a letter that another process sends meanwhile would be sent twice.
 */
export const ANSWER_MS = 30_000

/**
 * Whether a process may still be sending the items of a delivery: nobody has answered its command, and the process that took it
 * lives and has time left, or somebody can still take it.
 */
export async function isOpen(
  { commands, fleet }: Pick<Store, 'commands' | 'fleet'>,
  delivery: string,
  clock: Clock,
): Promise<boolean> {
  const [record] = (await commands?.get(delivery)) ?? []
  if (record === undefined || record.outcome !== undefined || record.state === 'expired') return false
  const { claimedBy, claimedAt = record.sentAt } = record
  if (claimedBy === undefined) return true
  // The absolute difference also covers a clock that was set back.
  if (Math.abs(clock.now() - claimedAt) >= DELIVERY_MS + ANSWER_MS) return false
  const all = (await fleet?.list()) ?? []
  return all.some(({ report, state }) => report.id === claimedBy && state === 'alive')
}
