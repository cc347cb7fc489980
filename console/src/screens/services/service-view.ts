import type {
  BreakerCounts,
  FleetInstance,
  FleetService,
  PauseReason,
  StalledParts,
} from '../../api/types.ts'

type ConsumerSum = FleetService['consumers'][number]
type SinkSum = FleetService['sinks'][number]

/** A consumer or a sink: of one process, or summed over several. */
export interface Part {
  readonly kind: 'consumer' | 'sink'
  /** The channel of a consumer, or the name of a sink. */
  readonly name: string
  readonly handler: string | undefined
  readonly broker: string | undefined
  /** Whether it can validate letters in one of the processes. */
  readonly hasSchema: boolean
  readonly processes: number
  readonly breakers: BreakerCounts
  /** The pauses in any of the processes. None for a sink. */
  readonly paused: readonly PauseReason[]
  /** What the broker holds up in any of the processes. None for a sink. */
  readonly stalled: StalledParts
  /** The processes in which a person paused it. */
  readonly pausedProcesses: number
  /** Undefined for a sink, which does not count by the minute. */
  readonly perMinute: number | undefined
  /** Of a consumer in the last minute, of a sink since its process started. Undefined without events. */
  readonly failureRate: number | undefined
  readonly active: number
  /** Deliveries that wait, or events that wait for a retry. */
  readonly waiting: number
  /** The lag of a consumer, or the buffer of a sink. Undefined if the broker cannot count. */
  readonly backlog: number | undefined
  /** The time of the last processed or delivered event. */
  readonly lastAt: string | undefined
}

/** The consumers and sinks of the living processes of a service. */
export function partsOfService({ consumers, sinks }: FleetService): readonly Part[] {
  return [...consumers.map(consumerPart), ...sinks.map(sinkPart)]
}

/** The consumers and sinks of one process. */
export function partsOfInstance({ consumers, sinks }: FleetInstance): readonly Part[] {
  const one = (state: FleetInstance['sinks'][number]['breaker']) => ({
    processes: 1,
    breakers: [{ state, processes: 1 }],
  })
  return [
    ...consumers.map(each =>
      consumerPart({
        ...each,
        ...one(each.breaker),
        brokers: [each.broker],
        pausedProcesses: each.paused.includes('manual') ? 1 : 0,
      }),
    ),
    ...sinks.map(each => sinkPart({ ...each, ...one(each.breaker) })),
  ]
}

function consumerPart(sum: ConsumerSum): Part {
  const { channel, handler, brokers, hasSchema, processes, breakers, paused, pausedProcesses } = sum
  const { stalled = [] } = sum
  const { perMinute, failureRate, active, waiting, lag, lastProcessedAt } = sum
  return {
    ...{
      kind: 'consumer',
      name: channel,
      handler,
      broker: brokers.join(', '),
      hasSchema: hasSchema === true,
    },
    ...{ processes, breakers, paused, stalled, pausedProcesses, perMinute, active, waiting },
    failureRate: perMinute === 0 ? undefined : failureRate,
    backlog: lag,
    lastAt: lastProcessedAt,
  }
}

function sinkPart(sum: SinkSum): Part {
  const { name, processes, breakers, delivered, gaveUp, inFlight, retrying, buffered, lastDeliveredAt } = sum
  return {
    ...{ kind: 'sink', name, handler: undefined, broker: undefined, hasSchema: false },
    ...{ processes, breakers, paused: [], stalled: [], pausedProcesses: 0, perMinute: undefined },
    failureRate: delivered + gaveUp === 0 ? undefined : gaveUp / (delivered + gaveUp),
    active: inFlight,
    waiting: retrying,
    backlog: buffered,
    lastAt: lastDeliveredAt,
  }
}
