import type { FactOf } from '../history.ts'
import { type EndedWorld, groupBy } from './checker.ts'

/**
 * Each delivery reports how many attempts began before it. Poison detection relies on this count, because it is the
 * only trace of an attempt that killed its process. Attempts of a process that died or lost its connection count; an
 * attempt that was taken back because its consumer closed does not. Copies of one event look alike from outside, so
 * the checker reads only events with one copy.
 */
export function* attemptCounts({ history }: EndedWorld): Iterable<string> {
  const published = groupBy(history.of('published'), 'event', 'replay')
  const facts = history.of('delivered', 'begun', 'settled')
  for (const [id, own] of groupBy(facts, 'handler', 'event', 'replay')) {
    const [{ event, replay }] = own as [(typeof own)[0]]
    const copies = published.get(`${event} ${replay}`) ?? []
    if (copies.length === 1) yield* countsOf(id, own)
  }
}

function* countsOf(
  id: string,
  facts: readonly FactOf<'delivered' | 'begun' | 'settled'>[],
): Iterable<string> {
  let expected = 0
  let begunHere = 0
  for (const fact of facts) {
    if (fact.what === 'begun') begunHere++
    else if (fact.what === 'settled') {
      // Ended attempts were recorded; unfinished ones are taken back.
      if (fact.outcome === 'release' && begunHere > 0) begunHere--
    } else {
      expected += begunHere
      begunHere = 0
      if (fact.started !== expected)
        yield `${id}: ${expected} attempts began, but delivery ${fact.delivery} reports ${fact.started}`
      expected = fact.started
    }
  }
}
