import { isDeepStrictEqual } from 'node:util'
import { resolveBy } from '../../core/options/resolve.ts'
import type { OptionChange, OptionValues, RunningOptions } from '../reload/policy-source.ts'
import {
  canChangeDispatcher,
  type DispatcherOptions,
  type DispatcherPolicy,
  isLaneOption,
  laneInputs,
  resolveDispatcher,
} from './dispatcher-options.ts'
import { canChangeLane, type LaneSettings, laneRule } from './lane/lane-options.ts'

/** New options for a running dispatcher, checked. */
interface DispatcherReload {
  readonly changes: readonly OptionChange[]
  readonly input: DispatcherOptions
  readonly policy: DispatcherPolicy
  /** The options that each lane runs with afterwards. */
  readonly laneInputs: Readonly<Record<string, OptionValues>>
  readonly lanes: ReadonlyMap<string, LaneSettings>
}

/**
 * Checks the new options of a file. The options of lanes are compared lane by lane, because an option of the dispatcher holds for
 * every sink that has none of its own.
 */
export function prepareDispatcher(
  options: OptionValues,
  running: RunningOptions<DispatcherOptions>,
  runningLanes: Readonly<Record<string, OptionValues>>,
): DispatcherReload {
  const { input, changes } = running.next(
    options,
    (name, from, to) => isLaneOption(name) || canChangeDispatcher(name, from, to),
  )
  const policy = resolveDispatcher(input)
  const lanes = Object.entries(laneInputs(input)).map(([sink, to]) =>
    laneChange(sink, runningLanes[sink] ?? {}, to),
  )
  return {
    input,
    policy,
    changes: [
      ...changes.filter(({ option }) => !isLaneOption(option)),
      ...lanes.flatMap(({ changes: ofLane }) => ofLane),
    ],
    laneInputs: Object.fromEntries(lanes.map(lane => [lane.sink, lane.input])),
    lanes: new Map(lanes.map(lane => [lane.sink, resolveBy('dispatcher', laneRule, lane.input)])),
  }
}

function laneChange(sink: string, from: OptionValues, to: OptionValues) {
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])]
  const changes = names
    .filter(name => !isDeepStrictEqual(from[name], to[name]))
    .map(option => ({ sink, option, canChange: canChangeLane(option, from[option], to[option]) }))
  const changed = changes.filter(({ canChange }) => canChange).map(({ option }) => [option, to[option]])
  return { sink, changes, input: { ...from, ...Object.fromEntries(changed) } as OptionValues }
}
