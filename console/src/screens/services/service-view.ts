import type { BreakerState, FleetInstance, PauseReason } from '../../api/types.ts'

type Consumer = FleetInstance['consumers'][number]
type Sink = FleetInstance['sinks'][number]

/** A consumer or a sink: of one process, or summed over several. */
export interface Part {
  readonly kind: 'consumer' | 'sink'
  /** The channel of a consumer, or the name of a sink. */
  readonly name: string
  readonly handler: string | undefined
  readonly broker: string | undefined
  /** Whether it can validate letters in one of the processes. */
  readonly hasSchema: boolean
  /** The state in each process. */
  readonly breakers: readonly BreakerState[]
  /** The pauses in each process. None for a sink. */
  readonly paused: readonly (readonly PauseReason[])[]
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

/** The processes of a service that have the same version and release. */
export interface VersionView {
  readonly version: string | undefined
  readonly release: string | undefined
  readonly processes: number
  /** The share of the last minute's events of its consumers. Undefined without events. */
  readonly failureRate: number | undefined
}

export interface ServiceView {
  readonly name: string
  readonly alive: readonly FleetInstance[]
  /** The one that was seen last comes first. */
  readonly gone: readonly FleetInstance[]
  readonly left: readonly FleetInstance[]
  /** Of the living processes. */
  readonly versions: readonly VersionView[]
}

export function servicesOf(instances: readonly FleetInstance[]): readonly ServiceView[] {
  const services = Map.groupBy(instances, ({ service }) => service)
  return [...services].map(([name, all]) => {
    const alive = all.filter(({ state }) => state === 'alive')
    return {
      name,
      alive,
      gone: lastSeenFirst(all.filter(({ state }) => state === 'gone')),
      left: lastSeenFirst(all.filter(({ state }) => state === 'left')),
      versions: versionsOf(alive),
    }
  })
}

function lastSeenFirst(instances: readonly FleetInstance[]): readonly FleetInstance[] {
  return instances.toSorted((a, b) => a.silentMs - b.silentMs)
}

function versionsOf(instances: readonly FleetInstance[]): readonly VersionView[] {
  const versions = Map.groupBy(instances, ({ version, release }) => JSON.stringify([version, release]))
  return [...versions.values()].map(same => ({
    version: same[0]!.version,
    release: same[0]!.release,
    processes: same.length,
    failureRate: failureRateOf(same.flatMap(({ consumers }) => consumers)),
  }))
}

/** A busy consumer counts for more than an idle one. */
function failureRateOf(consumers: readonly Consumer[]): number | undefined {
  const events = sum(consumers, ({ perMinute }) => perMinute)
  if (events === 0) return undefined
  return sum(consumers, ({ perMinute, failureRate }) => perMinute * failureRate) / events
}

/** The consumers and sinks of these processes. Those with the same name become one part. */
export function partsOf(instances: readonly FleetInstance[]): readonly Part[] {
  const consumers = Map.groupBy(
    instances.flatMap(each => each.consumers),
    ({ channel, handler }) => JSON.stringify([channel, handler]),
  )
  const sinks = Map.groupBy(
    instances.flatMap(each => each.sinks),
    ({ name }) => name,
  )
  return [...[...consumers.values()].map(consumerPart), ...[...sinks.values()].map(sinkPart)]
}

function consumerPart(same: readonly Consumer[]): Part {
  const { channel, handler } = same[0]!
  const lags = same.flatMap(({ lag }) => (lag === undefined ? [] : [lag]))
  return {
    kind: 'consumer',
    name: channel,
    handler,
    broker: [...new Set(same.map(({ broker }) => broker))].join(', '),
    hasSchema: same.some(({ hasSchema }) => hasSchema === true),
    breakers: same.map(({ breaker }) => breaker),
    paused: same.map(({ paused }) => paused),
    perMinute: sum(same, ({ perMinute }) => perMinute),
    failureRate: failureRateOf(same),
    active: sum(same, ({ active }) => active),
    waiting: sum(same, ({ waiting }) => waiting),
    // Each process counts the same queue, so a sum would count its events several times.
    backlog: lags.length === 0 ? undefined : Math.max(...lags),
    lastAt: latest(same.map(({ lastProcessedAt }) => lastProcessedAt)),
  }
}

function sinkPart(same: readonly Sink[]): Part {
  const delivered = sum(same, each => each.delivered)
  const gaveUp = sum(same, each => each.gaveUp)
  return {
    kind: 'sink',
    name: same[0]!.name,
    handler: undefined,
    broker: undefined,
    hasSchema: false,
    breakers: same.map(({ breaker }) => breaker),
    paused: [],
    perMinute: undefined,
    failureRate: delivered + gaveUp === 0 ? undefined : gaveUp / (delivered + gaveUp),
    active: sum(same, ({ inFlight }) => inFlight),
    waiting: sum(same, ({ retrying }) => retrying),
    backlog: sum(same, ({ buffered }) => buffered),
    lastAt: latest(same.map(({ lastDeliveredAt }) => lastDeliveredAt)),
  }
}

function sum<T>(all: readonly T[], value: (each: T) => number): number {
  return all.reduce((total, each) => total + value(each), 0)
}

/** ISO times in UTC sort as texts. */
function latest(times: readonly (string | undefined)[]): string | undefined {
  return times
    .filter(each => each !== undefined)
    .toSorted()
    .at(-1)
}
