import type { Ended } from './checker.ts'

/**
 * No event is settled as done unless, in that very process, its handler succeeded, the ledger said that it is done, or
 * a rule dropped it. And the ledger says so only of what has succeeded.
 */
export function* success({ journal, plan }: Ended): Iterable<string> {
  /** By consumer and event: how often there was a reason to settle as done. */
  const reasons = new Map<string, number>()
  const succeeded = new Set<string>()
  const add = (consumer: string, event: string, count: number) => {
    const id = `${consumer} ${event}`
    reasons.set(id, (reasons.get(id) ?? 0) + count)
  }
  const keyOf = (event: string) => plan.events.get(event)?.idempotencyKey ?? event
  for (const fact of journal.facts) {
    switch (fact.what) {
      case 'returned':
        add(fact.consumer, fact.event, 1)
        succeeded.add(`${fact.consumer} ${keyOf(fact.event)}`)
        break
      case 'dropped':
        add(fact.consumer, fact.event, 1)
        break
      case 'claimed':
        if (fact.answer !== 'done') break
        for (const { name, idempotencyKey } of plan.events.values())
          if (idempotencyKey === fact.key) add(fact.consumer, name, 1)
        break
      case 'completed':
        if (fact.took && !succeeded.has(`${fact.consumer} ${fact.key}`))
          yield `${fact.consumer} completed ${fact.key} in the ledger before its handler succeeded`
        break
      case 'settled': {
        if (fact.outcome !== 'done') break
        if ((reasons.get(`${fact.consumer} ${fact.event}`) ?? 0) < 1)
          yield `${fact.consumer} settled ${fact.event} as done without a success`
        add(fact.consumer, fact.event, -1)
      }
    }
  }
}
