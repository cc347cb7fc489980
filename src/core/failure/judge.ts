import { type CauseChain, CauseWalk } from './chain.ts'
import { applyRules, type FailureRule } from './failure-rule.ts'
import { readSignal } from './signals.ts'
import { lookUp } from './tables/table.ts'
import type { Thrown } from './thrown.ts'
import type { Verdict } from './verdict.ts'

/** A classification and the chain it was made on: through the member of an AggregateError, that member's causes. */
interface Judgement {
  readonly chain: CauseChain
  /** Undefined when nothing in the chain was recognised. */
  readonly verdict: Verdict | undefined
}

/**
 * Each question is put to the whole chain before the next one is asked. So what a person wrote (a signal, then a rule)
 * counts however deep it lies, and a status that some wrapper happens to carry never outvotes it. The nearest error
 * answers each question: the code that wrapped a cause saw it and chose the wrapper.
 */
export function judge(thrown: unknown, rules: readonly FailureRule[]): Judgement {
  return judgeOn(new CauseWalk(), thrown, rules)
}

function judgeOn(walk: CauseWalk, thrown: unknown, rules: readonly FailureRule[]): Judgement {
  const chain = walk.chainFrom(thrown)
  const verdict = nearest(chain, readSignal) ?? applyRules(rules, chain) ?? nearest(chain, lookUp)
  if (verdict !== undefined) return { chain, verdict }
  return judgeMembers(walk, chain, rules) ?? { chain, verdict: undefined }
}

/**
 * Several errors at once, most often from `Promise.any`: if one of them may pass, so may the whole. Retries are
 * bounded, and giving up too early is worse than one of them too many.
 */
function judgeMembers(
  walk: CauseWalk,
  chain: CauseChain,
  rules: readonly FailureRule[],
): Judgement | undefined {
  let best: Judgement | undefined
  for (const thrown of chain) {
    for (const member of walk.membersOf(thrown)) {
      const { chain: tail, verdict } = judgeOn(walk, member, rules)
      // A chain is a list that is not empty, and both parts are: spreading forgets that.
      const judgement: Judgement = { chain: [...chain, ...tail] as unknown as CauseChain, verdict }
      if (verdict?.retryable) return judgement
      if (best === undefined || (best.verdict === undefined && verdict !== undefined)) best = judgement
    }
  }
  return best
}

function nearest(chain: CauseChain, ask: (thrown: Thrown) => Verdict | undefined): Verdict | undefined {
  for (const thrown of chain) {
    const verdict = ask(thrown)
    if (verdict !== undefined) return verdict
  }
  return undefined
}
