import type { EndedWorld } from './checker.ts'

/**
 * An open breaker admits no attempt, a half-open one only its probes, and no attempt starts without admission. Every
 * admitted attempt reports its result: an attempt without a result would keep the slot of a probe, and the breaker
 * could stay half-open forever.
 */
export function* breaker({ plan, history }: EndedWorld): Iterable<string> {
  const sinks = plan.machines.flatMap(({ name: machine, emitter }) =>
    (emitter?.sinks ?? []).map(({ name, breaker }) => ({ name, breaker, machine })),
  )
  const isGuarded = ({ consumer, handler }: { readonly consumer: string; readonly handler: string }) =>
    [...plan.handlers, ...sinks].some(
      each =>
        each.name === handler &&
        each.breaker !== 'off' &&
        (!('machine' in each) || consumer.startsWith(each.machine)),
    )
  const unused = new Map<string, number>()
  const inside = new Map<string, number>()
  const count = (counts: Map<string, number>, consumer: string, by: number): number => {
    const total = (counts.get(consumer) ?? 0) + by
    counts.set(consumer, total)
    return total
  }
  for (const fact of history.facts) {
    if (fact.what === 'admitted') {
      if (!fact.isAllowed) yield `${fact.consumer} admitted an attempt while its breaker was ${fact.before}`
      count(unused, fact.consumer, 1)
      count(inside, fact.consumer, 1)
    } else if ((fact.what === 'started' || fact.what === 'writing') && isGuarded(fact)) {
      if (count(unused, fact.consumer, -1) < 0)
        yield `${fact.consumer} started an attempt that its breaker had not admitted`
    } else if (fact.what === 'admissionEnded') {
      if (count(inside, fact.consumer, -1) < 0)
        yield `${fact.consumer} reported a result to its breaker twice`
    } else if (fact.what === 'machineClosed' && fact.active === 0) {
      for (const [consumer, left] of inside)
        if (consumer.startsWith(`${fact.machine}/`) && left > 0)
          yield `${consumer} closed, and its breaker got no result for ${left} admitted attempts`
    }
  }
}
