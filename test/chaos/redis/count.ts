import { redisDeadLetters, redisStreams } from '../../../src/adapters/redis/index.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Effects } from '../campaign/effects.ts'
import { countOutcomes, type EventCounts } from '../campaign/event-counts.ts'
import { lettersIn } from '../campaign/letters.ts'
import { CHANNEL, type Kind } from './plan.ts'

/** What became of all events. */
export interface Findings extends EventCounts {
  /** Still on the server. */
  readonly left: number
  /** Effects that would have happened a second time, and that the effect's own transaction refused. */
  readonly ranAgain: number
}

export async function collectFindings(
  url: string,
  events: readonly LazaretEvent[],
  effects: Effects,
): Promise<Findings> {
  const canBeHandled = (event: LazaretEvent) => (event.payload as { kind: Kind }).kind !== 'permanent'
  const letters = await lettersIn(redisDeadLetters({ url }), CHANNEL)
  const { afterKill, unexplained } = effects.repeats()
  return {
    ...countOutcomes(events, effects.ids(), new Set(letters), canBeHandled),
    left: await depthAt(url),
    ranAgain: afterKill + unexplained,
  }
}

async function depthAt(url: string): Promise<number> {
  const broker = redisStreams({ url })
  try {
    return await broker.depth(CHANNEL, CHANNEL)
  } finally {
    await broker.close()
  }
}
