import type { BreakerMode } from '../core/breaker/state.ts'
import type { Clock } from '../ports/clock.ts'
import { describePart, type Fleet, type Instance } from '../ports/fleet.ts'
import type { PauseReason } from '../ports/observer.ts'
import { LivingProcesses } from './living-processes.ts'
import type { DownstreamAnswer } from './target.ts'

/** A consumer or a sink in the report of a process. */
interface FoundPart {
  readonly name: string
  readonly breaker: BreakerMode | 'off'
  readonly paused: readonly PauseReason[]
  readonly instance: Instance
}

/**
 * The downstream gate for consumers and sinks in other processes. A channel has a fault when a handler of it can take events
 * in none of the living processes that report it, and a sink likewise. The answer says whose report that is and how old.
 * Without such a process, or while the store does not answer, nobody knows and the gate passes.
 */
export function fleetGate(
  fleets: readonly Fleet[],
  clock: Clock,
): (channel: string, sink?: string) => Promise<DownstreamAnswer> {
  const living = fleets.map(fleet => new LivingProcesses(fleet, clock))
  return async (channel, sink) => {
    const read = await Promise.allSettled(living.map(each => each.read()))
    const alive = read.flatMap(each => (each.status === 'fulfilled' ? each.value : []))
    const found = alive.flatMap(instance => partsOf(instance, channel, sink))
    if (found.length === 0) {
      const isAway = read.some(({ status }) => status === 'rejected')
      return { answer: { answeredBy: 'nobody', reason: reasonOf(fleets.length, isAway, channel, sink) } }
    }
    const instances = [...new Set(found.map(({ instance }) => instance))]
    return {
      fault: faultOf(found, sink === undefined ? 'consumer' : 'sink'),
      answer: {
        answeredBy: 'fleet',
        saidAt: clock.now() - oldest(instances),
        count: instances.length,
        processes: instances.map(({ report: { id, service, version } }) => ({ id, service, version })),
      },
    }
  }
}

function partsOf(instance: Instance, channel: string, sink: string | undefined): readonly FoundPart[] {
  const { consumers, sinks } = instance.report
  if (sink === undefined)
    return consumers
      .filter(each => each.channel === channel)
      .map(({ handler, breaker, paused }) => ({ name: handler, breaker, paused, instance }))
  return sinks
    .filter(({ name }) => name === sink)
    .map(({ name, breaker }) => ({ name, breaker, paused: [], instance }))
}

function reasonOf(fleets: number, isAway: boolean, channel: string, sink: string | undefined): string {
  if (fleets === 0) return 'the store keeps no fleet'
  if (isAway) return 'the fleet of the store cannot be read'
  return `no living process in the fleet ${describePart({ channel, sink })}`
}

function faultOf(found: readonly FoundPart[], kind: string): string | undefined {
  for (const [name, reported] of Map.groupBy(found, each => each.name)) {
    const faults = reported.flatMap(each => partFault(each) ?? [])
    if (faults.length < reported.length) continue
    const ageMs = oldest(reported.map(({ instance }) => instance))
    const [{ instance }] = reported as [FoundPart]
    const where = reported.length === 1 ? `in 1 process` : `in all ${reported.length} processes`
    return `the ${kind} ${name} ${[...new Set(faults)].join(' or ')} ${where} of ${instance.report.service} (reported ${Math.round(ageMs / 1_000)} s ago)`
  }
  return undefined
}

function oldest(instances: readonly Instance[]): number {
  return Math.max(...instances.map(({ silentMs }) => silentMs))
}

function partFault({ breaker, paused }: FoundPart): string | undefined {
  if (paused.includes('manual')) return 'is paused manually'
  if (breaker === 'open' || breaker === 'forced-open') return 'has an open breaker'
  return undefined
}
