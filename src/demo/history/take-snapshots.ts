import { DEFAULT_WATCH } from '../../core/watch/options.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ChannelSnapshot } from '../../ports/snapshots.ts'
import type { Store } from '../../ports/store.ts'
import { SnapshotTaker } from '../../server/watch/snapshot-taker.ts'

/** Frequent enough for a chart, rare enough that a simulated day takes a moment. */
const EVERY_MS = 15 * 60_000

/** Takes snapshots of a simulated day as the server does. The returned list grows while the clock runs. */
export function takeSnapshots(store: Store, clock: Clock): readonly ChannelSnapshot[] {
  const taken: ChannelSnapshot[] = []
  const taker = new SnapshotTaker()
  const { signal } = new AbortController()
  const round = async (): Promise<void> => {
    const letters = store.deadLetters
    const at = clock.now()
    const about = { letters, queues: new Map(), required: [], limitsOf: () => DEFAULT_WATCH, at, signal }
    // The last survey can meet a store that is already closed.
    taken.push(...(await taker.take(about).catch(() => [])))
  }
  const go = () => {
    clock.schedule(EVERY_MS, () => {
      void round()
      go()
    })
  }
  go()
  return taken
}
