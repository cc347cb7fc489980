import type { InstanceReport, ReportedConsumer, ReportedSink } from '../../ports/fleet.ts'
import type { Consumer } from '../consumer/consumer.ts'
import type { Dispatcher } from '../dispatcher/dispatcher.ts'

/** The consumers and dispatchers that a process reports, and that commands can reach. */
export interface FleetParts {
  readonly consumers: readonly Consumer[]
  readonly dispatchers: readonly Pick<Dispatcher, 'health' | 'breaker'>[]
}

/** What a process says of its consumers and sinks now. `lags` has the lag of the consumers whose broker can count it. */
export function reportParts(
  { consumers, dispatchers }: FleetParts,
  lags: ReadonlyMap<Consumer, number>,
): Pick<InstanceReport, 'consumers' | 'sinks'> {
  return {
    consumers: consumers.map(consumer => reportConsumer(consumer, lags.get(consumer))),
    sinks: dispatchers.flatMap(dispatcher =>
      Object.entries(dispatcher.health().sinks).map(
        ([name, sink]): ReportedSink => ({
          name,
          breaker: sink.breakerState,
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

function reportConsumer(consumer: Consumer, lag: number | undefined): ReportedConsumer {
  const { channel, handler, breakerState, paused, perMinute, failureRate, active, waiting, lastProcessedAt } =
    consumer.health()
  return {
    channel,
    handler,
    broker: consumer.brokerName,
    breaker: breakerState,
    paused,
    perMinute,
    failureRate,
    active,
    waiting,
    lastProcessedAt,
    lag,
  }
}
