import type { Clock } from '../ports/clock.ts'
import type { Fleet, ReportedConsumer } from '../ports/fleet.ts'
import { LivingProcesses } from './living-processes.ts'

/**
 * The downstream gate for consumers in other processes. A channel has a fault when a handler of it can take events in none of
 * the living processes that report it. The answer says whose report that is and how old. Without such a process, or while
 * the store does not answer, the gate knows nothing and passes.
 */
export function fleetGate(
  fleets: readonly Fleet[],
  clock: Clock,
): (channel: string) => Promise<string | undefined> {
  const living = fleets.map(fleet => new LivingProcesses(fleet, clock))
  return async channel => {
    const all = await Promise.all(living.map(each => each.read().catch(() => [])))
    const found = all
      .flat()
      .flatMap(instance =>
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

function faultOf({ breaker, paused }: ReportedConsumer): string | undefined {
  if (paused.includes('manual')) return 'is paused manually'
  if (breaker === 'open' || breaker === 'forced-open') return 'has an open breaker'
  return undefined
}
