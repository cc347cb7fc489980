import type { Retention } from '../../core/dead-letter/retention.ts'
import { startHousekeeping } from '../../operations/housekeeping.ts'
import { type AutomaticReplaySettings, replayAutomatically } from '../../replay/automatic.ts'
import type { NamedStore } from '../stores/federation.ts'
import type { RunnerOptions } from './replay-runner.ts'

/** The scheduled work of a server. Schedules are cron patterns in UTC. */
export interface ScheduleOptions extends Retention {
  /** Replays letters with `autoReplay: true` on a schedule [off]. */
  readonly automaticReplay?: Pick<AutomaticReplaySettings, 'cron' | 'batchSize' | 'maxAgeMs'> | undefined
  /** Whether a person must approve the plans of a schedule [false]. */
  readonly needsApproval?: boolean | undefined
  /** Deletes letters after their retention on a schedule [never]. */
  readonly cleanup?:
    | {
        /** A cron pattern of five fields, in UTC: `0 2 * * *` is two in the morning. */
        readonly cron: string
      }
    | undefined
}

type ScheduleContext = Omit<RunnerOptions, 'log' | 'onChange'>

/** Starts the schedules. The returned function stops them after the running work has ended. */
export function startSchedules(options: ScheduleOptions, context: ScheduleContext): () => Promise<void> {
  const ends = context.stores.all.map(named => startOf(named, options, context))
  return async () => void (await Promise.all(ends.map(end => end())))
}

function startOf(
  named: NamedStore,
  { automaticReplay, needsApproval, cleanup, retentionMs, expireUndecidedAfterMs }: ScheduleOptions,
  { environment, owner, targetOf, observer, tracing, masks, onError }: ScheduleContext,
): () => Promise<void> {
  const { store } = named
  const target = targetOf(named)
  const replaying =
    automaticReplay === undefined || target === undefined
      ? undefined
      : replayAutomatically({
          ...automaticReplay,
          ...{ needsApproval, store, target, environment, owner, observer, tracing, masks, onError },
        })
  const { clock } = environment
  const housekeeping =
    cleanup &&
    startHousekeeping({ ...cleanup, store, retentionMs, expireUndecidedAfterMs, observer, clock, onError })
  return async () => {
    await Promise.all([replaying?.close(), housekeeping?.close()])
  }
}
