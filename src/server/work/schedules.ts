import { purgeLetters } from '../../operations/purge.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Observer } from '../../ports/observer.ts'
import type { Store } from '../../ports/store.ts'
import type { Tracing } from '../../ports/tracing.ts'
import { type AutomaticReplayOptions, onSchedule, replayAutomatically } from '../../replay/automatic.ts'
import type { Surroundings } from '../../replay/plan.ts'
import type { ReplayTarget } from '../../replay/runner.ts'
import type { Federation, NamedStore } from '../stores/federation.ts'

/** What is done by itself, at the times of a cron pattern in UTC. */
export interface ScheduleOptions {
  readonly automaticReplay?: Pick<AutomaticReplayOptions, 'cron' | 'batchSize' | 'maxAgeMs'> | undefined
  readonly cleanup?: { readonly cron: string } | undefined
  readonly retentionMs?: number | undefined
}

interface Around {
  readonly stores: Federation
  readonly around: Surroundings
  readonly owner: string
  readonly targetOf: (named: NamedStore) => ReplayTarget | undefined
  readonly observer?: Observer | undefined
  readonly tracing: Tracing | undefined
  readonly onError: (error: unknown) => void
}

const CLEANER = 'cleanup'

/** Starts them; the function returned ends them, after what is under way. */
export function startSchedules(options: ScheduleOptions, around: Around): () => Promise<void> {
  const stop = new AbortController()
  const ends = around.stores.all.map(named => startOf(named, options, around, stop.signal))
  return async () => {
    stop.abort()
    await Promise.all(ends.map(end => end()))
  }
}

function startOf(
  named: NamedStore,
  { automaticReplay, cleanup, retentionMs }: ScheduleOptions,
  { around, owner, targetOf, observer, tracing, onError }: Around,
  signal: AbortSignal,
): () => Promise<void> {
  const { store } = named
  const target = targetOf(named)
  const endReplay =
    automaticReplay === undefined || target === undefined
      ? undefined
      : replayAutomatically({ ...automaticReplay, store, target, around, owner, observer, tracing, onError })
  const cleaning =
    cleanup &&
    onSchedule(cleanup.cron, { around, onError, turn: { ledger: store.ledger, what: CLEANER } }, signal, () =>
      cleanUp(store, around.clock, retentionMs, signal),
    )
  return async () => {
    await endReplay?.()
    await cleaning
  }
}

/** Letters past their own time to live, and those that last failed longer ago than letters are kept. */
async function cleanUp(
  store: Store,
  clock: Clock,
  retentionMs: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const own = store.deadLetters as { cleanup?(now: number): Promise<number> }
  const at = clock.now()
  if (own.cleanup !== undefined) {
    await own.cleanup(at)
    return
  }
  await purgeLetters(store, { filter: {}, isExpiredOnly: true, at }, CLEANER, { signal })
  if (retentionMs === undefined) return
  const filter = { before: at - retentionMs }
  await purgeLetters(store, { filter, isExpiredOnly: false, at }, CLEANER, { signal })
}
