import type { BreakerMode } from '../../core/breaker/state.ts'
import type { Clock } from '../../ports/clock.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import type { InstanceReport, ReportedConsumer, ReportedSink } from '../../ports/fleet.ts'
import type { Breaker } from '../breaker.ts'
import type { Consumer } from '../consumer/consumer.ts'
import type { Dispatcher } from '../dispatcher/dispatcher.ts'
import type { DeliveryParts } from './deliver.ts'
import { isOpen } from './open-parts.ts'

/** The consumers and dispatchers that a process reports, and that commands can reach. */
export interface FleetParts extends DeliveryParts {
  readonly consumers: readonly Consumer[]
  readonly dispatchers: readonly FleetDispatcher[]
  /** The letters of the shared store; undefined if it has none. */
  readonly letters: FleetLetters | undefined
  readonly clock: Clock
}

/** The part of a dispatcher that a fleet reports and commands. */
export type FleetDispatcher = Pick<Dispatcher, 'health' | 'breaker' | 'resend' | 'isClosed'> &
  Partial<Pick<Dispatcher, 'channel'>>

/** The part of a store of letters that commands need. */
export type FleetLetters = Pick<DeadLetterStore, 'get' | 'list' | 'change'>

/** What a process says of its open consumers and the sinks of its open dispatchers now. `lags` has the lag of the consumers whose broker can count it. */
export function reportParts(
  { consumers, dispatchers, clock }: Pick<FleetParts, 'consumers' | 'dispatchers' | 'clock'>,
  lags: ReadonlyMap<Consumer, number>,
): Pick<InstanceReport, 'consumers' | 'sinks'> {
  return {
    consumers: consumers
      .filter(isOpen)
      .map(consumer => reportConsumer(consumer, lags.get(consumer), clock.now())),
    sinks: dispatchers.filter(isOpen).flatMap(dispatcher =>
      Object.entries(dispatcher.health().sinks).map(
        ([name, sink]): ReportedSink => ({
          name,
          ...(dispatcher.channel !== undefined && { channel: dispatcher.channel }),
          breaker: reportedMode(sink.breakerState, dispatcher.breaker(name), clock.now()),
          buffered: sink.buffered,
          inFlight: sink.inFlight,
          retrying: sink.retrying,
          delivered: sink.delivered,
          gaveUp: sink.gaveUp,
          lastDeliveredAt: sink.lastDeliveredAt,
        }),
      ),
    ),
  }
}

/** The open consumers of a channel, or of one handler of it. Throws when this process has none. */
export function consumersOf(
  { consumers }: Pick<FleetParts, 'consumers'>,
  channel: string,
  handler: string | undefined,
): readonly Consumer[] {
  const found = consumers.filter(consumer => {
    const health = consumer.health()
    return isOpen(consumer) && health.channel === channel && (handler ?? health.handler) === health.handler
  })
  if (found.length === 0)
    throw new Error(
      `channel ${channel}${handler === undefined ? '' : ` with handler ${handler}`} has no consumer in this process`,
    )
  return found
}

function reportConsumer(consumer: Consumer, lag: number | undefined, now: number): ReportedConsumer {
  const health = consumer.health()
  const { channel, handler, breakerState, paused, perMinute, failureRate, active, waiting, lastProcessedAt } =
    health
  const stalled = (health.stalls ?? []).map(({ place }) => place)
  return {
    channel,
    handler,
    broker: consumer.brokerName,
    breaker: reportedMode(breakerState, consumer.breaker, now),
    paused,
    ...(stalled.length > 0 && { stalled }),
    perMinute,
    failureRate,
    active,
    waiting,
    lastProcessedAt,
    lag,
    ...(consumer.schema !== undefined && { hasSchema: true }),
  }
}

/** Only an attempt moves an open breaker on. A replay that waits for a closed one would wait for itself. */
function reportedMode(mode: BreakerMode | 'off', breaker: Breaker | undefined, now: number) {
  return mode === 'open' && breaker?.wouldAdmit(now) ? 'half-open' : mode
}
