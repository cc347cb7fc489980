import type { Instance } from '../../ports/fleet.ts'
import { iso, isoOr } from '../schema/common.ts'
import type { FleetInstance } from '../schema/fleet.ts'

export function instanceView(store: string, { report, state, seenAt, silentMs }: Instance): FleetInstance {
  const { v: _, startedAt, consumers, sinks, ...rest } = report
  return {
    ...rest,
    store,
    state,
    startedAt: iso(startedAt),
    seenAt: iso(seenAt),
    silentMs: Math.round(silentMs),
    consumers: consumers.map(({ lastProcessedAt, paused, stalled, ...each }) => ({
      ...each,
      paused: [...paused],
      stalled: stalled && [...stalled],
      lastProcessedAt: isoOr(lastProcessedAt),
    })),
    sinks: sinks.map(({ lastDeliveredAt, ...each }) => ({
      ...each,
      lastDeliveredAt: isoOr(lastDeliveredAt),
    })),
  }
}
