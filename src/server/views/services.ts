import type { Instance } from '../../ports/fleet.ts'
import { isoOr } from '../schema/common.ts'
import type { FleetService } from '../schema/fleet.ts'
import {
  countBreakers,
  failureRateOf,
  lagOf,
  latest,
  processesOf,
  sum,
  sumConsumers,
} from './consumer-sums.ts'

/** The processes by service, with the sums of the living ones. */
export function servicesOf(instances: readonly Instance[]): readonly FleetService[] {
  return [...Map.groupBy(instances, ({ report }) => report.service)].map(([name, all]) => {
    const alive = all.filter(({ state }) => state === 'alive')
    return {
      name,
      alive: alive.length,
      gone: all.filter(({ state }) => state === 'gone').length,
      left: all.filter(({ state }) => state === 'left').length,
      versions: versionsOf(alive),
      consumers: consumersOf(alive),
      sinks: sinksOf(alive),
    }
  })
}

function versionsOf(alive: readonly Instance[]): FleetService['versions'] {
  const versions = Map.groupBy(alive, ({ report: { version, release } }) =>
    JSON.stringify([version, release]),
  )
  return [...versions.values()].map(same => ({
    version: same[0]!.report.version,
    release: same[0]!.report.release,
    processes: same.length,
    failureRate: failureRateOf(same.flatMap(({ report }) => report.consumers)),
  }))
}

function consumersOf(alive: readonly Instance[]): FleetService['consumers'] {
  const consumers = alive.flatMap(({ report }) =>
    report.consumers.map(each => ({ ...each, processId: report.id })),
  )
  const handlers = Map.groupBy(consumers, ({ channel, handler }) => JSON.stringify([channel, handler]))
  return [...handlers.values()].map(same => {
    const { lastProcessedAt, ...sums } = sumConsumers(same)
    return {
      ...sums,
      channel: same[0]!.channel,
      brokers: [...new Set(same.map(({ broker }) => broker))],
      lag: lagOf(same),
      hasSchema: same.some(({ hasSchema }) => hasSchema === true) ? true : undefined,
      lastProcessedAt: isoOr(lastProcessedAt),
    }
  })
}

function sinksOf(alive: readonly Instance[]): FleetService['sinks'] {
  const sinks = alive.flatMap(({ report }) => report.sinks.map(each => ({ ...each, processId: report.id })))
  return [...Map.groupBy(sinks, ({ name }) => name)].map(([name, same]) => ({
    name,
    processes: processesOf(same),
    breakers: countBreakers(same),
    buffered: sum(same, each => each.buffered),
    inFlight: sum(same, each => each.inFlight),
    retrying: sum(same, each => each.retrying),
    delivered: sum(same, each => each.delivered),
    gaveUp: sum(same, each => each.gaveUp),
    lastDeliveredAt: isoOr(latest(same.map(({ lastDeliveredAt }) => lastDeliveredAt))),
  }))
}
