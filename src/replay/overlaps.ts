import type { ReplayOverlap, ReplayState, Replays } from '../ports/replays.ts'

const UNFINISHED: readonly ReplayState[] = ['planned', 'approved', 'running', 'paused', 'halted']
const PAGE = 500

/**
 * Finds the unfinished replays that still have to send some of these letters. Both replays would send a letter that fails
 * again, so the planner should know. Each state is searched in its newest replays only.
 */
export async function findOverlaps(
  replays: Replays,
  toSend: () => Iterable<string>,
): Promise<readonly ReplayOverlap[]> {
  // By id, because a replay can change its state while the states are read one after the other.
  const found = new Map<string, number>()
  // Mostly there is no other replay, and a set of a million ids takes memory.
  let letterIds: ReadonlySet<string> | undefined
  for (const state of UNFINISHED)
    for (const { id } of await replays.list({ state }))
      if (!found.has(id)) {
        letterIds ??= new Set(toSend())
        found.set(id, await countWaiting(replays, id, letterIds))
      }
  return [...found].flatMap(([replayId, count]) => (count === 0 ? [] : [{ replayId, count }]))
}

async function countWaiting(replays: Replays, id: string, letterIds: ReadonlySet<string>): Promise<number> {
  let count = 0
  let after = -1
  for (;;) {
    const page = await replays.items(id, { status: 'waiting', after, limit: PAGE })
    for (const { letterId } of page) if (letterIds.has(letterId)) count++
    if (page.length < PAGE) return count
    after = page.at(-1)!.position
  }
}
