import { hostname } from 'node:os'
import process from 'node:process'
import type { BreakerSnapshot } from '../../runtime/breaker.ts'
import type { ChannelConsumer, ChannelInstance } from '../schema/channels.ts'
import { isoOr } from '../schema/common.ts'
import type { BreakerStats } from '../schema/consumers.ts'
import { isThisProcess, type RemoteConsumer, type StoreInstance } from '../stores/fleet-reader.ts'
import type { LocalConsumer } from '../stores/local-consumers.ts'
import { type CountedConsumer, lagOf, sumConsumers } from './consumer-sums.ts'
import { pick } from './pick.ts'

/** The server's own process, whether it is in the fleet or not. */
const THIS_PROCESS = 'this process'

/** A consumer of the server's own process, with its lag if the broker can count it. */
export interface LocalWithLag extends LocalConsumer {
  readonly lag: number | undefined
}

/** The consumers of a channel by handler, each summed over the server's own process and all other living ones. */
export function channelConsumers(
  local: readonly LocalWithLag[],
  remote: readonly RemoteConsumer[],
): ChannelConsumer[] {
  const own = Map.groupBy(local, ({ health }) => health.handler)
  const others = Map.groupBy(remote, ({ handler }) => handler)
  return [...new Set([...own.keys(), ...others.keys()])].map(handler => {
    const here = own.get(handler) ?? []
    const all = [...here.map(countedLocal), ...(others.get(handler) ?? [])]
    const { lastProcessedAt, ...sums } = sumConsumers(all)
    return {
      ...sums,
      isLocal: here.length > 0,
      ...(here.length === 1 && localBreaker(here[0]!)),
      lastProcessedAt: isoOr(lastProcessedAt),
      depth: lagOf(all),
    }
  })
}

/** A consumer of the server's own process. `report` is the one of this process, if it is in the fleet. */
export function localInstance(local: LocalWithLag, report: StoreInstance | undefined): ChannelInstance {
  const { processId: _, lag, broker, lastProcessedAt, paused, stalled, ...numbers } = countedLocal(local)
  return {
    ...numbers,
    paused: [...paused],
    stalled: stalled && [...stalled],
    broker,
    isLocal: true,
    ...(report && identityOf(report)),
    host: hostname(),
    pid: process.pid,
    silentMs: 0,
    ...localBreaker(local),
    lastProcessedAt: isoOr(lastProcessedAt),
    depth: lag,
  }
}

/** A consumer of another process, as that process reported it. */
export function remoteInstance(consumer: RemoteConsumer): ChannelInstance {
  const { host, pid } = consumer.process.report
  return {
    ...pick(consumer, 'handler', 'broker', 'breaker', 'perMinute', 'failureRate', 'active', 'waiting'),
    paused: [...consumer.paused],
    stalled: consumer.stalled && [...consumer.stalled],
    isLocal: false,
    ...identityOf(consumer.process),
    host,
    pid,
    silentMs: Math.round(consumer.process.silentMs),
    lastProcessedAt: isoOr(consumer.lastProcessedAt),
    depth: consumer.lag,
  }
}

/** The report of the server's own process that names it best. */
export function ownReport(instances: readonly StoreInstance[]): StoreInstance | undefined {
  return instances.find(each => each.state === 'alive' && isThisProcess(each))
}

function identityOf({ report, store }: StoreInstance) {
  return { store, ...pick(report, 'id', 'service', 'version', 'release') }
}

function countedLocal({ consumer, health, lag }: LocalWithLag): CountedConsumer {
  return {
    ...pick(health, 'handler', 'paused', 'perMinute', 'failureRate', 'active', 'waiting', 'lastProcessedAt'),
    stalled: health.stalls?.map(({ place }) => place),
    breaker: health.breakerState,
    broker: consumer.brokerName,
    processId: THIS_PROCESS,
    lag,
  }
}

function localBreaker({ consumer: { breaker } }: LocalConsumer) {
  const state = breaker?.state
  return {
    retryAt: state?.mode === 'open' ? isoOr(state.until) : undefined,
    breakerStats: breaker && statsOf(breaker.snapshot()),
  }
}

function statsOf({ lastFailureAt, lastChangeAt, ...snapshot }: BreakerSnapshot): BreakerStats {
  return {
    ...pick(snapshot, 'calls', 'successes', 'failures', 'rejected', 'opened'),
    lastFailureAt: isoOr(lastFailureAt),
    lastChangeAt: isoOr(lastChangeAt),
  }
}
