import type { Clock } from '../../ports/clock.ts'
import type { Collector } from '../../ports/collector.ts'
import type { Store } from '../../ports/store.ts'
import type { CollectingInto } from '../options.ts'
import type { Federation } from '../stores/federation.ts'
import type { ServerLog } from './log.ts'
import { Standby } from './standby.ts'

/** Starts them, each in one server of all that share its store; the function returned ends them. */
export function startCollecting(
  collectors: readonly CollectingInto[],
  stores: Federation,
  clock: Clock,
  log: ServerLog,
): () => Promise<void> {
  const ends = collectors.map(({ collector, store }) => {
    const into = stores.all.find(({ name }) => name === store) ?? stores.all[0]!
    return startOne(collector, into.store, clock, log)
  })
  return async () => void (await Promise.all(ends.map(end => end())))
}

function startOne(
  collector: Collector,
  { deadLetters, ledger }: Store,
  clock: Clock,
  log: ServerLog,
): () => Promise<void> {
  const duty = {
    name: `collector ${collector.name}`,
    start: () => {
      collector.start(deadLetters)
      log.collecting(collector.name, true)
    },
    stop: async () => {
      await collector.stop()
      log.collecting(collector.name, false)
    },
  }
  const standby = ledger && new Standby(duty, ledger, clock)
  // A store without a ledger is a folder of files, which has one server.
  if (standby === undefined) duty.start()
  else standby.begin()
  return async () => {
    if (standby === undefined) await duty.stop()
    else await standby.end()
    await collector.close()
  }
}
