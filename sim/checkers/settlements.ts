import type { EndedWorld } from './checker.ts'

/**
 * An event is settled as done only if, in the same process, its handler succeeded, the ledger reported it as done, or
 * a rule dropped it. The ledger reports done only after a success. Otherwise an unhandled event would be lost without
 * a trace. One success settles one delivery. A late success also settles every copy that arrives before its own
 * delivery is settled, because that settlement can still wait for an unreachable letter store.
 */
export function* settlements({ history, plan }: EndedWorld): Iterable<string> {
  /** By consumer and event: the number of reasons to settle as done. */
  const reasons = new Map<string, number>()
  const succeeded = new Set<string>()
  const open = new Map<string, number>()
  const lateRuns = new Set<number>()
  /** By consumer and event: a run succeeded late, and deliveries of the event are open. */
  const lateSuccesses = new Set<string>()
  const count = (counts: Map<string, number>, consumer: string, event: string, by: number) => {
    const id = `${consumer} ${event}`
    counts.set(id, (counts.get(id) ?? 0) + by)
  }
  const add = (consumer: string, event: string, by: number) => count(reasons, consumer, event, by)
  const keyOf = (event: string) => plan.events.get(event)?.idempotencyKey ?? event
  for (const fact of history.facts) {
    switch (fact.what) {
      case 'delivered':
        count(open, fact.consumer, fact.event, 1)
        if (lateSuccesses.has(`${fact.consumer} ${fact.event}`)) add(fact.consumer, fact.event, 1)
        break
      case 'aborted':
        lateRuns.add(fact.run)
        break
      case 'returned': {
        const waiting = lateRuns.has(fact.run) ? (open.get(`${fact.consumer} ${fact.event}`) ?? 0) : 1
        add(fact.consumer, fact.event, Math.max(1, waiting))
        if (lateRuns.has(fact.run) && waiting > 0) lateSuccesses.add(`${fact.consumer} ${fact.event}`)
        succeeded.add(`${fact.consumer} ${keyOf(fact.event)}`)
        break
      }
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
        count(open, fact.consumer, fact.event, -1)
        if (open.get(`${fact.consumer} ${fact.event}`) === 0)
          lateSuccesses.delete(`${fact.consumer} ${fact.event}`)
        if (fact.outcome !== 'done') break
        if ((reasons.get(`${fact.consumer} ${fact.event}`) ?? 0) < 1)
          yield `${fact.consumer} settled ${fact.event} as done without a success`
        add(fact.consumer, fact.event, -1)
      }
    }
  }
}
