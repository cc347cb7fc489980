import type { StalledPart } from '../../ports/broker.ts'
import { breakerGauge } from '../../runtime/breaker.ts'
import type { BreakerCounts, BreakerState, ConsumerSum, PauseReason } from '../schema/consumers.ts'

/** A consumer in one process. */
export interface CountedConsumer {
  readonly handler: string
  /** Names the process: two consumers of one process are one process. */
  readonly processId: string
  readonly broker: string
  readonly breaker: BreakerState
  readonly paused: readonly PauseReason[]
  readonly stalled?: readonly StalledPart[] | undefined
  readonly perMinute: number
  readonly failureRate: number
  readonly active: number
  readonly waiting: number
  readonly lastProcessedAt?: number | undefined
  readonly lag?: number | undefined
}

/** The times in it are epoch milliseconds. */
type Sum = Omit<ConsumerSum, 'lastProcessedAt'> & { readonly lastProcessedAt: number | undefined }

/** The same consumer in several processes as one: the worst breaker, all pauses, the sum of the counts. */
export function sumConsumers(same: readonly CountedConsumer[]): Sum {
  const perMinute = sum(same, each => each.perMinute)
  const stalled = [...new Set(same.flatMap(each => each.stalled ?? []))]
  return {
    handler: same[0]!.handler,
    processes: processesOf(same),
    breaker: worstBreaker(same),
    breakers: countBreakers(same),
    paused: [...new Set(same.flatMap(({ paused }) => paused))],
    stalled: stalled.length === 0 ? undefined : stalled,
    pausedProcesses: processesOf(same.filter(({ paused }) => paused.includes('manual'))),
    perMinute,
    failureRate: failureRateOf(same) ?? 0,
    active: sum(same, each => each.active),
    waiting: sum(same, each => each.waiting),
    lastProcessedAt: latest(same.map(({ lastProcessedAt }) => lastProcessedAt)),
  }
}

/** The share of all their events that failed: a busy consumer counts for more than an idle one. Undefined without events. */
export function failureRateOf(
  consumers: readonly Pick<CountedConsumer, 'perMinute' | 'failureRate'>[],
): number | undefined {
  const events = sum(consumers, ({ perMinute }) => perMinute)
  if (events === 0) return undefined
  return Math.min(1, sum(consumers, ({ perMinute, failureRate }) => perMinute * failureRate) / events)
}

/** The worst state first, as in the list of states of a breaker. */
export function countBreakers(
  same: readonly Pick<CountedConsumer, 'breaker' | 'processId'>[],
): BreakerCounts {
  return [...Map.groupBy(same, ({ breaker }) => breaker)]
    .map(([state, each]) => ({ state, processes: processesOf(each) }))
    .sort((a, b) => breakerGauge(b.state) - breakerGauge(a.state) || (a.state < b.state ? -1 : 1))
}

/** Each process counts the whole queue of its broker, so only the lags of different brokers are added. */
export function lagOf(same: readonly Pick<CountedConsumer, 'broker' | 'lag'>[]): number | undefined {
  const known = same.flatMap(({ broker, lag }) => (lag === undefined ? [] : [{ broker, lag }]))
  if (known.length === 0) return undefined
  const brokers = Map.groupBy(known, ({ broker }) => broker)
  return sum([...brokers.values()], each => Math.max(...each.map(({ lag }) => lag)))
}

export function sum<T>(all: readonly T[], value: (each: T) => number): number {
  return all.reduce((total, each) => total + value(each), 0)
}

export function latest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter(each => each !== undefined)
  return known.length === 0 ? undefined : known.reduce((a, b) => Math.max(a, b))
}

function worstBreaker(same: readonly CountedConsumer[]): BreakerState {
  return same.reduce((a, b) => (breakerGauge(b.breaker) > breakerGauge(a.breaker) ? b : a)).breaker
}

export function processesOf(consumers: readonly Pick<CountedConsumer, 'processId'>[]): number {
  return new Set(consumers.map(({ processId }) => processId)).size
}
