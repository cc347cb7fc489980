import { summariseFailure } from '../../core/dead-letter/create.ts'
import type { AttemptFailure } from '../../core/dead-letter/letter.ts'
import { classify } from '../../core/failure/classify.ts'
import { type Failure, saysDependencyIsSick } from '../../core/failure/failure.ts'
import { isInstance } from '../../core/failure/thrown.ts'
import { decideRetry } from '../../core/retry/decide.ts'
import type { RejectedItem } from '../../ports/sink.ts'
import { observe } from '../observe.ts'
import { TimeoutError } from '../timeout-error.ts'
import type { Flight, WriteEnd } from './lane-flight.ts'
import type { Item, Trouble } from './lane-item.ts'
import type { LanePolicy } from './lane-policy.ts'
import type { GiveUp } from './tracked.ts'

/** What the lane does with an item whose write has ended. */
export interface AfterWrite {
  delivered(item: Item, now: number): void
  retry(item: Item, at: number): void
  gaveUp(item: Item, giveUp: GiveUp): void
}

/** What was thrown at one or more items, and what it means: worked out once for all of them. */
interface Blow {
  readonly thrown: unknown
  readonly failure: Failure
  readonly summary: AttemptFailure
  /** One draw for all of a write, so that what failed together is retried together and not one by one. */
  readonly chance: number
}

/** Decides what follows a write, for the breaker and for each item of the batch. */
export class Aftermath {
  readonly #policy: LanePolicy
  readonly #lane: AfterWrite

  constructor(policy: LanePolicy, lane: AfterWrite) {
    this.#policy = policy
    this.#lane = lane
  }

  settle(flight: Flight, end: WriteEnd, now: number): void {
    if (end.ok) this.#written(flight, end.rejected, now)
    else this.#failed(flight, end.thrown, now)
  }

  #written(flight: Flight, rejected: readonly RejectedItem[], now: number): void {
    const { items, startedAt, epoch } = flight
    const blows = this.#blows(items, rejected, now)
    const { breaker, name, observer } = this.#policy
    const count = items.length - blows.size
    flight.ended(count > 0 ? undefined : blows.values().next().value?.failure)
    if (count > 0) breaker?.succeeded(epoch)
    else {
      const sick = [...blows.values()].some(({ failure }) => saysDependencyIsSick(failure))
      breaker?.settle(epoch, sick ? 'failure' : 'ignored', now)
    }
    if (count > 0 && observer.batchWritten)
      observe(observer, 'batchWritten', { name, count, durationMs: now - startedAt })
    for (const item of items) {
      const blow = blows.size === 0 ? undefined : blows.get(item)
      if (blow === undefined) this.#delivered(item, startedAt, now)
      else this.#struck(item, blow, startedAt, now)
    }
  }

  #failed(flight: Flight, thrown: unknown, now: number): void {
    const { items, startedAt, epoch } = flight
    const { breaker, name, observer } = this.#policy
    const blow = this.#blow(thrown, now, this.#policy.random())
    flight.ended(blow.failure)
    breaker?.settle(epoch, saysDependencyIsSick(blow.failure) ? 'failure' : 'ignored', now)
    if (observer.timedOut && isInstance(thrown, TimeoutError)) {
      const attempt = (items[0]?.trouble?.attempts ?? 0) + 1
      observe(observer, 'timedOut', { name, attempt, timeoutMs: thrown.timeoutMs })
    }
    for (const item of items) this.#struck(item, blow, startedAt, now)
  }

  /** Most sinks refuse many items for one reason, and then give one error for all of them. */
  #blows(items: readonly Item[], rejected: readonly RejectedItem[], now: number): Map<Item, Blow> {
    const blows = new Map<Item, Blow>()
    if (rejected.length === 0) return blows
    const byError = new Map<unknown, Blow>()
    const chance = this.#policy.random()
    for (const { index, error } of rejected) {
      const item = items[index]
      if (item === undefined) continue
      const blow = byError.get(error) ?? this.#blow(error, now, chance)
      byError.set(error, blow)
      blows.set(item, blow)
    }
    return blows
  }

  #blow(thrown: unknown, now: number, chance: number): Blow {
    const { classify: rules, caps } = this.#policy
    const failure = classify(thrown, { rules, now, stack: caps.keepStack })
    return { thrown, failure, summary: summariseFailure(failure, caps), chance }
  }

  /** Its write has timed out and was counted so, and has taken it all the same. */
  deliveredLate(item: Item, now: number): void {
    const { name, observer } = this.#policy
    const { attempts = 1, firstStartedAt = now } = item.trouble ?? {}
    if (observer.callSucceeded)
      observe(observer, 'callSucceeded', { name, attempts, durationMs: now - firstStartedAt })
    this.#lane.delivered(item, now)
  }

  #delivered(item: Item, startedAt: number, now: number): void {
    const { name, observer } = this.#policy
    if (observer.callSucceeded) {
      const { attempts = 0, firstStartedAt = startedAt } = item.trouble ?? {}
      const durationMs = now - firstStartedAt
      observe(observer, 'callSucceeded', { name, attempts: attempts + 1, durationMs })
    }
    if (item.trouble !== undefined && observer.retrySucceeded)
      observe(observer, 'retrySucceeded', { name, attempts: item.trouble.attempts + 1 })
    this.#lane.delivered(item, now)
  }

  #struck(item: Item, blow: Blow, startedAt: number, now: number): void {
    const { name, retry, observer, caps } = this.#policy
    const { failure, summary, chance, thrown } = blow
    item.trouble ??= newTrouble(blow, startedAt)
    const { trouble } = item
    const attempt = ++trouble.attempts
    trouble.failure = failure
    trouble.thrown = thrown
    if (observer.attemptFailed) observe(observer, 'attemptFailed', { name, attempt, failure })
    const elapsedMs = now - trouble.firstStartedAt
    const { previousDelayMs } = trouble
    const decision = decideRetry(retry, { failure, attempt, elapsedMs, previousDelayMs }, () => chance)
    const delayMs = decision.action === 'retry' ? decision.delayMs : undefined
    trouble.records.push({ number: attempt, startedAt, endedAt: now, failure: summary, delayMs })
    if (trouble.records.length > caps.maxAttempts) trouble.records.splice(1, 1)
    if (decision.action === 'give-up') {
      this.#lane.gaveUp(item, inTrouble(trouble, decision.reason))
      return
    }
    trouble.previousDelayMs = decision.delayMs
    if (observer.retryScheduled) {
      const { delayMs, delayFrom } = decision
      observe(observer, 'retryScheduled', { name, attempt: attempt + 1, delayMs, delayFrom })
    }
    this.#lane.retry(item, now + decision.delayMs)
  }
}

function newTrouble({ failure, thrown }: Blow, firstStartedAt: number): Trouble {
  return { attempts: 0, firstStartedAt, previousDelayMs: 0, failure, thrown, records: [] }
}

/** Gives up on an item with what it has been through. */
export function inTrouble(trouble: Trouble | undefined, reason: GiveUp['reason']): GiveUp {
  if (trouble === undefined) return { reason }
  const { failure, thrown, records, attempts } = trouble
  return { reason, failure, thrown, attempts: records, attemptCount: attempts }
}
