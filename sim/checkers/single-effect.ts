import type { Plan } from '../draw-plan.ts'
import type { Fact, FactOf } from '../history.ts'
import { type EndedWorld, groupBy } from './checker.ts'

/** Longer than any round trip to the ledger. */
const RELEASED_WITHIN_MS = 200

/**
 * With a ledger each effect happens once. It can happen again only if the first run did not record its completion, and
 * then the history must show the interruption: the process died, the deadline passed, the consumer closed, the ledger
 * refused the completion, or the claim expired.
 */
export function* singleEffect({ plan, history }: EndedWorld): Iterable<string> {
  if (!plan.hasLedger) return
  yield* unclaimed(history.facts)
  yield* unreleased(plan, history.facts)
  for (const [pair, effects] of groupBy(history.of('effect'), 'handler', 'key')) {
    if (effects.length === 1) continue
    const written = effects.filter(effect => isWritten(effect, history.facts))
    if (written.length > 1) yield `${pair}: the ledger recorded the effect of ${written.length} runs`
    for (const effect of effects) {
      if (!written.includes(effect) && !isInterrupted(effect, history.facts))
        yield `${pair}: run ${effect.run} had its effect and was not interrupted, but the effect happened again`
    }
  }
}

/** No run starts without its own claim. */
function* unclaimed(facts: readonly Fact[]): Iterable<string> {
  const claims = new Map<string, number>()
  const change = (consumer: string, by: number): number => {
    const count = (claims.get(consumer) ?? 0) + by
    claims.set(consumer, count)
    return count
  }
  for (const fact of facts) {
    if (fact.what === 'claimed' && fact.answer === 'claimed') change(fact.consumer, 1)
    else if (fact.what === 'started' && change(fact.consumer, -1) < 0)
      yield `${fact.consumer} started ${fact.event} without a claim`
  }
}

/** A failed run releases its claim, so that the next attempt does not wait for the end of the lease. */
function* unreleased(plan: Plan, facts: readonly Fact[]): Iterable<string> {
  const withLedgerFault = new Set<string>()
  const aborted = new Set<number>()
  const failed = new Map<string, FactOf<'threw'>>()
  for (const fact of facts) {
    if (fact.what === 'fault' && fact.port === 'ledger') withLedgerFault.add(fact.where)
    else if (fact.what === 'aborted') aborted.add(fact.run)
    else if (fact.what === 'threw' && !aborted.has(fact.run))
      failed.set(`${fact.handler} ${keyOf(plan, fact.event)}`, fact)
    else if (fact.what === 'released') failed.delete(`${fact.handler} ${fact.key}`)
    else if (fact.what === 'claimed') {
      const holder = failed.get(`${fact.handler} ${fact.key}`)
      if (fact.answer !== 'busy') failed.delete(`${fact.handler} ${fact.key}`)
      else if (
        holder !== undefined &&
        fact.at - holder.at > RELEASED_WITHIN_MS &&
        !withLedgerFault.has(machineOf(holder.consumer))
      )
        yield `${holder.consumer} failed with ${holder.event} and kept its claim`
    } else if (fact.what === 'machineCrashed')
      for (const [pair, { consumer }] of failed) if (machineOf(consumer) === fact.machine) failed.delete(pair)
  }
}

function keyOf({ events }: Plan, event: string): string {
  return events.get(event)?.idempotencyKey ?? event
}

function machineOf(consumer: string): string {
  return consumer.slice(0, consumer.indexOf('/'))
}

/**
 * Whether the consumer of the run recorded its completion before it claimed the key again. A run after its deadline is
 * not recorded.
 */
function isWritten(effect: FactOf<'effect'>, facts: readonly Fact[]): boolean {
  if (facts.some(fact => fact.what === 'aborted' && fact.run === effect.run)) return false
  const wasSet = facts.some(fact => fact.what === 'jumped')
  for (const fact of facts.slice(facts.indexOf(effect))) {
    if (fact.what !== 'claimed' && fact.what !== 'completed') continue
    if (fact.consumer !== effect.consumer || fact.key !== effect.key) continue
    // After a clock change a claim can expire during its run, and the following facts belong to another run.
    if (fact.what === 'completed' && (fact.took || wasSet)) return fact.took
    if (fact.what === 'claimed' && fact.answer === 'claimed') return false
  }
  return false
}

function isInterrupted({ consumer, run, key }: FactOf<'effect'>, facts: readonly Fact[]): boolean {
  const machine = machineOf(consumer)
  return facts.some(fact => {
    switch (fact.what) {
      case 'machineCrashed':
        return fact.machine === machine
      case 'aborted':
      // A step after the effect failed, such as publishing the next event.
      case 'threw':
        return fact.run === run
      case 'completed':
        return !fact.took && fact.consumer === consumer && fact.key === key
      case 'fault':
        return fact.port === 'ledger' && fact.call === 'complete' && fact.where === machine
      default:
        return false
    }
  })
}
