import type { Clock } from '../ports/clock.ts'
import type { Fleet, Instance, ReportedConsumer } from '../ports/fleet.ts'

/** A plan asks for every letter. Within this time it gets the same reports. */
const REPORTS_FOR_MS = 1_000

/**
 * The downstream gate for consumers in other processes. A channel has a fault when a handler of it can take events in none of
 * the living processes that report it. The answer says whose report that is and how old. Without such a process, or while
 * the store does not answer, the gate knows nothing and passes.
 */
export function fleetGate(
  fleets: readonly Fleet[],
  clock: Clock,
): (channel: string) => Promise<string | undefined> {
  let reports: { readonly until: number; readonly alive: Promise<readonly Instance[]> } | undefined
  const read = () => {
    const now = clock.now()
    if (reports === undefined || reports.until <= now || reports.until > now + REPORTS_FOR_MS)
      reports = { until: now + REPORTS_FOR_MS, alive: readAlive(fleets) }
    return reports.alive
  }
  return async channel => {
    const found = (await read()).flatMap(instance =>
      instance.report.consumers
        .filter(consumer => consumer.channel === channel)
        .map(consumer => ({ consumer, instance })),
    )
    for (const [handler, reported] of Map.groupBy(found, ({ consumer }) => consumer.handler)) {
      const faults = reported.flatMap(({ consumer }) => faultOf(consumer) ?? [])
      if (faults.length < reported.length) continue
      const ageMs = Math.max(...reported.map(({ instance }) => instance.silentMs))
      const [{ instance }] = reported as [(typeof reported)[number]]
      const where = reported.length === 1 ? `in 1 process` : `in all ${reported.length} processes`
      return `the consumer ${handler} ${[...new Set(faults)].join(' or ')} ${where} of ${instance.report.service} (reported ${Math.round(ageMs / 1_000)} s ago)`
    }
    return undefined
  }
}

async function readAlive(fleets: readonly Fleet[]): Promise<readonly Instance[]> {
  const all = await Promise.all(fleets.map(fleet => fleet.list().catch(() => [])))
  return all.flat().filter(({ state }) => state === 'alive')
}

function faultOf({ breaker, paused }: ReportedConsumer): string | undefined {
  if (paused.includes('manual')) return 'is paused manually'
  if (breaker === 'open' || breaker === 'forced-open') return 'has an open breaker'
  return undefined
}
