import { withAdmin } from '../../../src/adapters/rabbitmq/admin.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Effects } from './effects.ts'
import { countOutcomes, type EventCounts } from './event-counts.ts'
import { lettersOnRabbitmq } from './letters.ts'
import type { Kind } from './plan.ts'
import { CHANNEL } from './settings.ts'

/** What became of all messages. */
export interface Findings extends EventCounts {
  /** Still waiting on the server. */
  readonly left: number
  /** Letters of one message beyond its first. */
  readonly doubleLetters: number
  /** Deliveries of handled events, refused by the ledger. */
  readonly skipped: number
  /** Handlers that ran again, because their process was killed after the effect and before the ledger's entry. */
  readonly ranAfterKill: number
  /** Handlers that ran again, and the ledger should have known. */
  readonly ranAgain: number
  readonly publishedAgain: number
}

export async function collectFindings(
  url: string,
  events: readonly LazaretEvent[],
  effects: Effects,
  outcomes: ReadonlyMap<string, number>,
): Promise<Findings> {
  const letters = await lettersOnRabbitmq(url, CHANNEL)
  const dead = new Set(letters)
  const { ready = 0, waiting, suspects } = await withAdmin({ url }, admin => admin.status(CHANNEL))
  const kindOf = (event: LazaretEvent) => (event.payload as { kind: Kind }).kind
  const canBeHandled = (event: LazaretEvent) => kindOf(event) === 'valid' || kindOf(event) === 'transient'
  const { afterKill, unexplained } = effects.repeats()
  return {
    ...countOutcomes(events, effects.ids(), dead, canBeHandled),
    left: ready + waiting + suspects,
    doubleLetters: letters.length - dead.size,
    skipped: outcomes.get('skipped') ?? 0,
    ranAfterKill: afterKill,
    ranAgain: unexplained,
    publishedAgain: 0,
  }
}
