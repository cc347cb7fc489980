import { redisDeadLetters, redisStreams } from '../../../src/adapters/redis/index.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Effects } from '../campaign/effects.ts'
import { lettersIn } from '../campaign/letters.ts'
import { type Verdict, verdictOn } from '../campaign/verdict.ts'
import { CHANNEL, type Kind } from './plan.ts'

/** What became of all events. */
export interface Findings extends Verdict {
  /** Still on the server. */
  readonly left: number
  /** Effects that were to happen a second time, and were turned away by the effect's own transaction. */
  readonly ranAgain: number
}

export async function countUp(
  url: string,
  events: readonly LazaretEvent[],
  effects: Effects,
): Promise<Findings> {
  const canBeHandled = (event: LazaretEvent) => (event.payload as { kind: Kind }).kind !== 'permanent'
  const letters = await lettersIn(redisDeadLetters({ url }), CHANNEL)
  const { afterKill, unexplained } = effects.repeats()
  return {
    ...verdictOn(events, effects.ids(), new Set(letters), canBeHandled),
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
