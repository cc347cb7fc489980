import type { Clock } from '../../ports/clock.ts'
import type { Collector } from '../../ports/collector.ts'
import type { Federation } from '../stores/federation.ts'
import { runOnLeader } from './leader-election.ts'
import type { ServerLog } from './log.ts'

/** A collector and the store for its letters. */
export interface CollectorAssignment {
  /** The collector, such as `rabbitmqCollector(…)`. */
  readonly collector: Collector
  /** The name of the store for its letters [the first store]. */
  readonly store?: string | undefined
}

/** Runs the collector in one of the servers that share its store. The returned function stops it. */
export function startCollecting(
  { collector, store }: CollectorAssignment,
  stores: Federation,
  clock: Clock,
  log: ServerLog,
): () => Promise<void> {
  const into = stores.all.find(({ name }) => name === store) ?? stores.all[0]!
  const task = {
    name: `collector ${collector.name}`,
    start: () => {
      collector.start(into.store.deadLetters)
      log.collecting(collector.name, true)
    },
    stop: async () => {
      await collector.stop()
      log.collecting(collector.name, false)
    },
  }
  const end = runOnLeader(task, into.store.ledger, clock)
  return async () => {
    await end()
    await collector.close()
  }
}
