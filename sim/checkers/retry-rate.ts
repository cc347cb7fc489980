import { RETRY_LIMIT_PRESETS, type RetryLimitOptions } from '../../src/core/limit/options.ts'
import { type EndedWorld, groupBy } from './checker.ts'

/**
 * Retries start no faster than the retry limit of their consumer, so that a recovering dependency is not overloaded.
 * The checker uses the time of the decision, because ledger and broker add their own delays. It skips worlds with
 * clock changes, which mix turns from before and after the change.
 */
export function* retryRate({ plan, history }: EndedWorld): Iterable<string> {
  if (history.of('jumped').length > 0) return
  const isRetry = retriesOf(history.of('delivered', 'begun'))
  const retries = history.of('begun').filter(fact => isRetry.has(fact))
  for (const [consumer, begun] of groupBy(retries, 'consumer')) {
    const { retryLimit } = plan.handlers.find(({ name }) => name === begun[0]?.handler)!
    const { most, withinMs } = bound(retryLimit ?? RETRY_LIMIT_PRESETS.staging)
    const times = begun.map(({ askedAt }) => askedAt).sort((a, b) => a - b)
    for (const [index, from] of times.entries()) {
      const count = times.findLastIndex(at => at < from + withinMs) - index + 1
      if (count > most) {
        yield `${consumer} started ${count} retries within ${withinMs} ms of ${from}; ${most} are allowed`
        break
      }
    }
  }
}

type Step =
  | { readonly what: 'delivered'; readonly delivery: number; readonly started: number }
  | { readonly what: 'begun'; readonly delivery: number }

/** The attempts that were not the first, in this delivery or an earlier one. */
function retriesOf(steps: readonly Step[]): ReadonlySet<unknown> {
  const startedBefore = new Map<number, number>()
  const retries = new Set<unknown>()
  for (const step of steps) {
    const before = startedBefore.get(step.delivery) ?? 0
    if (step.what === 'delivered') startedBefore.set(step.delivery, step.started)
    else {
      if (before > 0) retries.add(step)
      startedBefore.set(step.delivery, before + 1)
    }
  }
  return retries
}

function bound({ perSecond = 100, jitterRatio = 0, batch }: RetryLimitOptions) {
  if (batch !== undefined) return { most: batch.size ?? 100, withinMs: batch.everyMs ?? 1_000 }
  return { most: Math.ceil(perSecond + jitterRatio), withinMs: 1_000 }
}
