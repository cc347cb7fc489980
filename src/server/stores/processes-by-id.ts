import type { Instance, InstanceState } from '../../ports/fleet.ts'

/** A process that is alive in one store is alive. One that left all its stores in order has left. */
const BEST_FIRST: readonly InstanceState[] = ['alive', 'gone', 'left']

/**
 * Each process once, although it reports to several stores, or one store has several names. It has the consumers and sinks of all
 * its reports, and the state and the place in the order of the best one.
 */
export function processesById<I extends Instance>(instances: readonly I[]): readonly I[] {
  const processes = Map.groupBy(instances, ({ report }) => report.id)
  if (processes.size === instances.length) return instances
  return [...processes.values()].map(same => {
    const [best] = same.toSorted((a, b) => BEST_FIRST.indexOf(a.state) - BEST_FIRST.indexOf(b.state))
    const reports = same.map(({ report }) => report)
    const consumers = firstOfEach(
      reports.flatMap(report => report.consumers),
      ({ channel, handler, broker }) => JSON.stringify([channel, handler, broker]),
    )
    const sinks = firstOfEach(
      reports.flatMap(report => report.sinks),
      ({ name }) => name,
    )
    return { ...best!, report: { ...best!.report, consumers, sinks } }
  })
}

function firstOfEach<T>(all: readonly T[], keyOf: (each: T) => string): readonly T[] {
  return [...Map.groupBy(all, keyOf).values()].map(([first]) => first!)
}
