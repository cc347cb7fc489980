import { type CauseChain, CauseWalk } from './chain.ts'
import type { Classification } from './classification.ts'
import { applyRules, type FailureRule } from './failure-rule.ts'
import { readSignal } from './signals.ts'
import { lookUp } from './tables/table.ts'
import type { Thrown } from './thrown.ts'

/** A classification and the chain it was made on: through the member of an AggregateError, that member's causes. */
interface ChainClassification {
  readonly chain: CauseChain
  /** Undefined when nothing in the chain was recognised. */
  readonly classification: Classification | undefined
}

/**
 * Each question is put to the whole chain before the next one is asked. So what a person wrote (a signal, then a rule)
 * counts however deep it lies, and a status that some wrapper happens to carry never outvotes it. The nearest error
 * answers each question: the code that wrapped a cause saw it and chose the wrapper.
 */
export function classifyChain(thrown: unknown, rules: readonly FailureRule[]): ChainClassification {
  return classifyOn(new CauseWalk(), thrown, rules)
}

function classifyOn(walk: CauseWalk, thrown: unknown, rules: readonly FailureRule[]): ChainClassification {
  const chain = walk.chainFrom(thrown)
  const classification = nearest(chain, readSignal) ?? applyRules(rules, chain) ?? nearest(chain, lookUp)
  if (classification !== undefined) return { chain, classification }
  return classifyMembers(walk, chain, rules) ?? { chain, classification: undefined }
}

/**
 * Several errors at once, most often from `Promise.any`: if one of them may pass, so may the whole. Retries are
 * bounded, and giving up too early is worse than one of them too many.
 */
function classifyMembers(
  walk: CauseWalk,
  chain: CauseChain,
  rules: readonly FailureRule[],
): ChainClassification | undefined {
  let best: ChainClassification | undefined
  for (const thrown of chain) {
    for (const member of walk.membersOf(thrown)) {
      const { chain: tail, classification } = classifyOn(walk, member, rules)
      // A chain is a list that is not empty, and both parts are: spreading forgets that.
      const result: ChainClassification = {
        chain: [...chain, ...tail] as unknown as CauseChain,
        classification,
      }
      if (classification?.retryable) return result
      if (best === undefined || (best.classification === undefined && classification !== undefined))
        best = result
    }
  }
  return best
}

function nearest(
  chain: CauseChain,
  ask: (thrown: Thrown) => Classification | undefined,
): Classification | undefined {
  for (const thrown of chain) {
    const classification = ask(thrown)
    if (classification !== undefined) return classification
  }
  return undefined
}
