import type { BreakerMode } from '../../core/breaker/state.ts'
import { breakerGauge } from '../breaker.ts'
import type { UserFunctionHealth } from '../user-functions/user-faults.ts'

/** The health of one sink of a dispatcher. */
export interface SinkHealth {
  readonly breakerState: BreakerMode | 'off'
  /** Events in the lane, and their bytes: waiting, in flight and between retries. */
  readonly buffered: number
  readonly bufferedBytes: number
  readonly inFlight: number
  /** Between two attempts, or behind an open breaker. */
  readonly retrying: number
  /** Tracked, and waiting for room in the buffer. */
  readonly blocked: number
  /** Since the dispatcher was created. */
  readonly delivered: number
  readonly gaveUp: number
  readonly lastDeliveredAt: number | undefined
  /** The functions among the options of its lane: how often their fallback was taken. */
  readonly userFunctions: UserFunctionHealth
}

/** A part of a dispatcher that stalls now. `journal`: events that an earlier process left there cannot be read yet. */
export interface DispatcherStall {
  readonly place: 'journal'
  /** In the words of the journal, with the remedy where it knows one. */
  readonly problem: string
}

/** The health of a dispatcher. */
export interface DispatcherHealth<N extends string = string> {
  /** DOWN when no sink can be written to, DEGRADED when some cannot, letters could not be saved, or a part stalls. */
  readonly status: 'UP' | 'DEGRADED' | 'DOWN'
  readonly sinks: { readonly [name in N]: SinkHealth }
  /** Letters that neither the store nor the spill has taken yet: they are in memory only. */
  readonly unsavedLetters: number
  /** The functions among the other options: how often their fallback was taken. */
  readonly userFunctions: UserFunctionHealth
  /** The parts of the dispatcher that stall now. Absent if there are none. */
  readonly stalls?: readonly DispatcherStall[]
}

export function dispatcherHealth(
  sinks: Readonly<Record<string, SinkHealth>>,
  unsavedLetters: number,
  userFunctions: UserFunctionHealth,
  stalls: readonly DispatcherStall[],
): DispatcherHealth {
  const breakers = Object.values(sinks).map(({ breakerState }) => breakerGauge(breakerState))
  const isDown = breakers.every(gauge => gauge === 2)
  const isWell = breakers.every(gauge => gauge === 0) && unsavedLetters === 0 && stalls.length === 0
  return {
    status: isDown ? 'DOWN' : isWell ? 'UP' : 'DEGRADED',
    sinks,
    unsavedLetters,
    userFunctions,
    ...(stalls.length > 0 && { stalls }),
  }
}
