import type { Fact, FactOf } from '../history.ts'
import type { EndedWorld } from './checker.ts'

/**
 * No two attempts of one event and handler run at the same time in one process, even if the first has passed its
 * deadline: a slow handler must not compete with its own retry. With a ledger this holds for all processes, with three
 * exceptions: worlds with clock changes, processes whose ledger failed, and closing processes, which leave the claims
 * of running handlers to their leases.
 */
export function* overlap({ plan, history }: EndedWorld): Iterable<string> {
  const isFleetWide = plan.hasLedger && history.of('jumped').length === 0
  const withLedgerFault = new Set(
    history
      .of('fault')
      .filter(({ port }) => port === 'ledger')
      .map(({ where }) => where),
  )
  /** By handler and event: the running runs. */
  const running = new Map<string, Map<number, FactOf<'started'>>>()
  for (const fact of history.facts) {
    if (fact.what === 'started') {
      const id = `${fact.handler} ${fact.event}`
      const others = running.get(id) ?? new Map<number, FactOf<'started'>>()
      for (const other of others.values()) {
        const isHere = other.consumer === fact.consumer
        if (isHere || (isFleetWide && !withLedgerFault.has(machineOf(other.consumer))))
          yield `${fact.consumer} began run ${fact.run} of ${fact.event} while run ${other.run} of it was running in ${other.consumer}`
      }
      running.set(id, others.set(fact.run, fact))
    } else if (fact.what === 'machineClosing') withLedgerFault.add(fact.machine)
    else if (isEndOfRun(fact)) running.get(`${fact.handler} ${fact.event}`)?.delete(fact.run)
    else if (fact.what === 'machineCrashed' || fact.what === 'machineClosed') {
      for (const runs of running.values())
        for (const [run, { consumer }] of runs) if (machineOf(consumer) === fact.machine) runs.delete(run)
    }
  }
}

function isEndOfRun(fact: Fact): fact is FactOf<'returned' | 'threw' | 'killed'> {
  return fact.what === 'returned' || fact.what === 'threw' || fact.what === 'killed'
}

function machineOf(consumer: string): string {
  return consumer.slice(0, consumer.indexOf('/'))
}
