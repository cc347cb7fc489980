import type { EndedWorld } from './checker.ts'

/**
 * With ordering by key, no event begins before all earlier events of its key are resolved: done, or dead and
 * unblocked. The checker uses the beginning that the broker recorded. A process that lost its connection can still
 * start its run later, and no broker can prevent that.
 */
export function* order({ plan, history }: EndedWorld): Iterable<string> {
  for (const { name, channel, ordering } of plan.handlers) {
    if (ordering !== 'by-key') continue
    /** By key: the published events that are not resolved, oldest first. */
    const unresolved = new Map<string, string[]>()
    const dead = new Set<string>()
    const seen = new Set<string>()
    const keyOf = (event: string) => {
      const found = plan.events.get(event)
      return found?.eventKind === 'undecodable' ? undefined : found?.key
    }
    const resolve = (event: string) => {
      const lane = unresolved.get(keyOf(event) ?? '')
      if (lane?.includes(event)) lane.splice(lane.indexOf(event), 1)
    }
    for (const fact of history.facts) {
      if (fact.what === 'published' && fact.channel === channel && !seen.has(fact.event)) {
        seen.add(fact.event)
        const key = keyOf(fact.event)
        if (key !== undefined) unresolved.set(key, [...(unresolved.get(key) ?? []), fact.event])
      } else if (fact.what === 'unblockKey' && dead.has(fact.event)) {
        if ((fact.handler ?? name) === name) resolve(fact.event)
      } else if (fact.what === 'settled' && fact.handler === name) {
        if (fact.outcome === 'done') resolve(fact.event)
        if (fact.outcome === 'dead') dead.add(fact.event)
      } else if (fact.what === 'begun' && fact.handler === name) {
        const lane = unresolved.get(keyOf(fact.event) ?? '') ?? []
        const place = lane.indexOf(fact.event)
        if (place > 0) yield `${fact.consumer} began ${fact.event} before ${lane[0]} was resolved`
      }
    }
  }
}
