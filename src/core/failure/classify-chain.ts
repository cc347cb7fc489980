import { type CauseChain, CauseWalk } from './chain.ts'
import type { Classification } from './classification.ts'
import { applyRules, type FailureRule } from './failure-rule.ts'
import { readSignal } from './signals.ts'
import { lookUp } from './tables/table.ts'
import type { Thrown } from './thrown.ts'

/**
 * A classification and its chain of causes. For an AggregateError the chain continues with the causes of the deciding
 * member.
 */
interface ChainClassification {
  readonly chain: CauseChain
  /** Undefined if no error of the chain was recognised. */
  readonly classification: Classification | undefined
}

/**
 * Classifies a thrown value with its causes. Each question goes to the whole chain before the next question: first
 * signals, then rules, then the built-in table. So a person's decision counts at any depth, and the status of a wrapper
 * does not override it. For each question the nearest error decides, because the code that wrapped a cause knew the cause
 * and chose the wrapper.
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
 * Classifies several errors at once, mostly from `Promise.any`. If one of them is retryable, the whole is retryable:
 * retries are limited, and giving up too early is worse than one retry too many.
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
      // Both parts are non-empty, so the result is too. The type of a spread loses that.
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
