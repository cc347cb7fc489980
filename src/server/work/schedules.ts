import type { Retention } from '../../core/dead-letter/retention.ts'
import { applyRetention } from '../../operations/retention.ts'
import type { Observer } from '../../ports/observer.ts'
import type { Store } from '../../ports/store.ts'
import type { Tracing } from '../../ports/tracing.ts'
import { type AutomaticReplayOptions, onSchedule, replayAutomatically } from '../../replay/automatic.ts'
import type { ReplayTarget, Surroundings } from '../../replay/target.ts'
import type { Federation, NamedStore } from '../stores/federation.ts'

/** What is done by itself, at the times of a cron pattern in UTC. */
export interface ScheduleOptions extends Retention {
  readonly automaticReplay?: Pick<AutomaticReplayOptions, 'cron' | 'batchSize' | 'maxAgeMs'> | undefined
  /** A person approves what a schedule plans. */
  readonly needsApproval?: boolean | undefined
  readonly cleanup?: { readonly cron: string } | undefined
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
  { automaticReplay, needsApproval, cleanup, retentionMs, expireUndecidedAfterMs }: ScheduleOptions,
  { around, owner, targetOf, observer, tracing, onError }: Around,
  signal: AbortSignal,
): () => Promise<void> {
  const { store } = named
  const target = targetOf(named)
  const endReplay =
    automaticReplay === undefined || target === undefined
      ? undefined
      : replayAutomatically({
          ...automaticReplay,
          ...{ needsApproval, store, target, around, owner, observer, tracing, onError },
        })
  const cleanUp = async (from: Store) => {
    const retention = { retentionMs, expireUndecidedAfterMs }
    await applyRetention(from, retention, around.clock.now(), { signal, observer })
  }
  const cleaning =
    cleanup &&
    onSchedule(cleanup.cron, { around, onError, turn: { ledger: store.ledger, what: CLEANER } }, signal, () =>
      cleanUp(store),
    )
  return async () => {
    await endReplay?.()
    await cleaning
  }
}
