import type { BreakerMode } from '../core/breaker/state.ts'
import type { StalledPart } from './broker.ts'
import type { PauseReason } from './observer.ts'

/** A consumer of a process, as the process reports it. */
export interface ReportedConsumer {
  readonly channel: string
  readonly handler: string
  /** The name of its broker. */
  readonly broker: string
  /** An open breaker that admits its next event as a probe is reported as `half-open`. */
  readonly breaker: BreakerMode | 'off'
  readonly paused: readonly PauseReason[]
  /** What its broker holds up. Absent if nothing, and in reports of earlier versions. */
  readonly stalled?: readonly StalledPart[] | undefined
  /** Events that ended in the last minute, whatever became of them. */
  readonly perMinute: number
  /** The share of them that was retried or became dead letters. */
  readonly failureRate: number
  /** Attempts in flight. */
  readonly active: number
  /** Open deliveries that wait. */
  readonly waiting: number
  readonly lastProcessedAt?: number | undefined
  /** Events that the handler has not finished, where the broker can count them. */
  readonly lag?: number | undefined
  /** Whether it can validate letters. Absent for a consumer without a schema. */
  readonly hasSchema?: boolean | undefined
}

/** A sink of a process, as the process reports it. */
export interface ReportedSink {
  readonly name: string
  /** The channel of its dispatcher. Absent in reports of earlier versions. */
  readonly channel?: string | undefined
  /** As for a consumer. */
  readonly breaker: BreakerMode | 'off'
  /** Events in its buffer: waiting, in flight and between retries. */
  readonly buffered: number
  readonly inFlight: number
  readonly retrying: number
  /** Since the process started. */
  readonly delivered: number
  /** Events it gave up on since the process started. */
  readonly gaveUp: number
  readonly lastDeliveredAt?: number | undefined
}

/** What a process reports about itself. */
export interface InstanceReport {
  readonly v: 1
  /** Names the process: another start of the same program has another id. */
  readonly id: string
  /** The program, such as `orders`. Its processes have the same name. */
  readonly service: string
  readonly version?: string | undefined
  readonly release?: string | undefined
  readonly host: string
  readonly pid: number
  /** When the process joined, by its own clock. */
  readonly startedAt: number
  readonly consumers: readonly ReportedConsumer[]
  readonly sinks: readonly ReportedSink[]
}

/**
 * `alive`: it reported within its lease. `left`: it ended in order and said so. `gone`: it neither reported nor left: it
 * crashed, hangs, or cannot reach the store.
 */
export type InstanceState = 'alive' | 'left' | 'gone'

export const INSTANCE_STATES = ['alive', 'left', 'gone'] as const satisfies readonly InstanceState[]

/** A process of the fleet, as the store knows it. */
export interface Instance {
  readonly report: InstanceReport
  readonly state: InstanceState
  /** The time of its last report, or of its leaving: by the store's clock. */
  readonly seenAt: number
  /** How long ago that was, so that a reader need not compare its own clock with the store's. */
  readonly silentMs: number
}

/**
 * The processes that work on a store. Each reports itself; anyone who opens the store can list them.
 *
 * - `report` stores the report under its id and replaces the last one of this id. The process is alive for `leaseMs` from
 *   now on, by the clock of the store, so that the clocks of hosts need not agree. A process that left is alive again
 *   after a report. An invalid report is refused with an OptionsError, and the last one stays.
 * - `leave` ends the lease at once. The last report stays. An unknown id, or one that left before, is ignored.
 * - `list` has every process that was not purged, in the order of service, start and id, as JavaScript compares texts. It
 *   leaves out a report that it cannot read, such as one of a later version, and has all others.
 * - `purge` deletes the processes that are not alive and were last seen before a time by the store's clock, and answers
 *   how many.
 * - A process is alive while the clock is less than `leaseMs` away from its report, before or after it. So a clock that is
 *   set back by an hour does not keep a dead process alive for that hour.
 * - After the store was closed all four reject with a StoreClosedError.
 */
export interface Fleet {
  report(report: InstanceReport, leaseMs: number): Promise<void>
  leave(id: string): Promise<void>
  list(): Promise<readonly Instance[]>
  purge(before: number): Promise<number>
}

/** A consumer or a sink that somebody looks for in the reports. Without a handler or a broker, any one will do. */
export interface WantedPart {
  readonly channel?: string | undefined
  readonly handler?: string | undefined
  readonly broker?: string | undefined
  readonly sink?: string | undefined
  /** All sinks of the dispatcher of this channel. */
  readonly everySinkOf?: string | undefined
}

/** The consumer or the sink in words, after "no living process". */
export function describePart({ channel, handler, broker, sink, everySinkOf }: WantedPart): string {
  if (everySinkOf !== undefined) return `has a dispatcher of ${everySinkOf}`
  if (sink !== undefined) return `has the sink '${sink}'`
  const consumer = handler === undefined ? `consumes ${channel}` : `consumes ${channel}/${handler}`
  return broker === undefined ? consumer : `${consumer} from '${broker}'`
}

/** Whether the process reports the consumer or the sink. */
export function hasPart({ report }: Instance, wanted: WantedPart): boolean {
  const { channel, handler, broker, sink, everySinkOf } = wanted
  if (everySinkOf !== undefined) return report.sinks.some(each => each.channel === everySinkOf)
  if (sink !== undefined) return report.sinks.some(({ name }) => name === sink)
  return report.consumers.some(
    each =>
      each.channel === channel &&
      (handler ?? each.handler) === each.handler &&
      (broker ?? each.broker) === each.broker,
  )
}
