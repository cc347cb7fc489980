import type { Clock } from '../../ports/clock.ts'
import type { NamedStore } from '../stores/federation.ts'
import { Standby } from '../work/standby.ts'
import type { Watchman } from './watchman.ts'

/** Starts one for each store, in one server of all that share it; the function returned ends them. */
export function startWatching(
  stores: readonly NamedStore[],
  watchmanOf: (named: NamedStore) => Watchman,
  clock: Clock,
): () => Promise<void> {
  const ends = stores.map(named => {
    const watchman = watchmanOf(named)
    const { ledger } = named.store
    // A store without a ledger is a folder of files, which has one server.
    if (ledger === undefined) {
      watchman.start()
      return () => watchman.stop()
    }
    const standby = new Standby(watchman, ledger, clock)
    standby.begin()
    return () => standby.end()
  })
  return async () => void (await Promise.all(ends.map(end => end())))
}
