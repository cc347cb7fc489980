import type { DemoControl } from '../demo-control.ts'
import { addNumbers, gatherNumbers, type NumberSources } from '../stores/numbers.ts'
import { sumsByHandler } from '../views/fleet-health.ts'
import type { SnapshotReader } from '../watch/snapshot-reader.ts'
import type { StreamState } from './change-stream.ts'

const REPLAYS_WATCHED = 20

/** The sources of the state. */
interface StreamStateSources extends NumberSources {
  readonly snapshotReader: SnapshotReader
  readonly demo: DemoControl | undefined
}

/** Reads the state of everything. It runs every second, so it uses only numbers that the stores keep anyway. */
export async function readStreamState(sources: StreamStateSources): Promise<StreamState> {
  const gathered = await gatherNumbers(sources)
  const replays = await sources.stores.each(async ({ store }) => {
    const latest = await store.replays.list({ limit: REPLAYS_WATCHED })
    return latest.map(({ id, revision }) => `${id}:${revision}`)
  })
  const letters = gathered.found.map(({ value: { stats } }) => stats)
  const groups = gathered.found.map(({ value }) =>
    value.groups.slice(0, 200).map(({ id, state, count, waiting }) => [id, state, count, waiting]),
  )
  const channels = sources.consumers.all().map(({ health }) => {
    const { channel, handler, breakerState, paused, failureRate } = health
    return [channel, handler, breakerState, paused, Math.round(failureRate * 100)]
  })
  const fleet = sumsByHandler(await sources.fleet.remoteConsumers()).map(
    ({ channel, handler, breakers, paused, pausedProcesses, processes, failureRate }) => {
      const rate = Math.round(failureRate * 100)
      return [channel, handler, breakers, paused, pausedProcesses, processes, rate]
    },
  )
  // Another server may have taken the newest snapshot.
  const watches = await sources.snapshotReader.all()
  const snapshotAt = Math.max(0, ...watches.map(({ newestFirst: [{ at }] }) => at))
  const numbers = await addNumbers(sources, gathered)
  return {
    numbers,
    marks: {
      letters: JSON.stringify(letters),
      groups: JSON.stringify(groups),
      replays: JSON.stringify([replays.found.map(({ value }) => value), numbers.replays]),
      channels: JSON.stringify([channels, fleet, snapshotAt]),
      demo: JSON.stringify(sources.demo?.state() ?? null),
    },
  }
}
