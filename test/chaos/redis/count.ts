import { redisDeadLetters, redisStreams } from '../../../src/adapters/redis/index.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Effects } from '../campaign/effects.ts'
import { CHANNEL, type Kind } from './plan.ts'

/** What became of all events. */
export interface Findings {
  readonly handled: number
  readonly dead: number
  /** Neither handled nor dead. */
  readonly lost: number
  /** Handled, and dead as well. */
  readonly both: number
  /** Dead, though they could have been handled. */
  readonly wronged: number
  /** Handled, though nobody could. */
  readonly impossible: number
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
  const handled = effects.ids()
  const dead = await lettersAt(url)
  const left = await depthAt(url)
  const kindOf = (event: LazaretEvent) => (event.payload as { kind: Kind }).kind
  const count = (isSo: (event: LazaretEvent) => boolean) => events.filter(isSo).length
  const { afterKill, unexplained } = effects.repeats()
  return {
    handled: handled.size,
    dead: dead.size,
    lost: count(({ id }) => !handled.has(id) && !dead.has(id)),
    both: count(({ id }) => handled.has(id) && dead.has(id)),
    wronged: count(event => dead.has(event.id) && kindOf(event) !== 'permanent'),
    impossible: count(event => handled.has(event.id) && kindOf(event) === 'permanent'),
    left,
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

async function lettersAt(url: string): Promise<ReadonlySet<string>> {
  const store = redisDeadLetters({ url })
  const ids = new Set<string>()
  let cursor: string | undefined
  try {
    do {
      const page = await store.list({ channel: CHANNEL, limit: 100, cursor })
      for (const { event } of page.letters) ids.add(event.id)
      cursor = page.cursor
    } while (cursor !== undefined)
    return ids
  } finally {
    await store.close()
  }
}
