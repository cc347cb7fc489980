import { summariseFailure } from '../../../core/dead-letter/create.ts'
import type { AttemptFailure } from '../../../core/dead-letter/letter.ts'
import { type Failure, saysDependencyIsSick } from '../../../core/failure/failure.ts'
import type { RejectedItem } from '../../../ports/sink.ts'
import {
  decideNext,
  settleFailed,
  tellFailed,
  tellTimedOut,
  understand,
} from '../../attempt/after-failure.ts'
import { observe } from '../../observe.ts'
import type { Item, Trouble } from '../lane/item.ts'
import type { LanePolicy } from '../lane/lane-policy.ts'
import type { Flight, WriteEnd } from '../write/write.ts'
import type { GiveUp } from './give-up.ts'

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
    const blow = this.#blow(thrown, now, this.#policy.random())
    flight.ended(blow.failure)
    settleFailed(this.#policy, epoch, blow.failure, now)
    tellTimedOut(this.#policy, (items[0]?.trouble?.attempts ?? 0) + 1, thrown)
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
    const failure = understand(this.#policy, thrown, now)
    return { thrown, failure, summary: summariseFailure(failure, this.#policy.caps), chance }
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
    const { caps } = this.#policy
    const { failure, summary, chance, thrown } = blow
    item.trouble ??= newTrouble(blow, startedAt)
    const { trouble } = item
    const attempt = ++trouble.attempts
    trouble.failure = failure
    trouble.thrown = thrown
    tellFailed(this.#policy, attempt, failure)
    const { firstStartedAt, previousDelayMs } = trouble
    const history = { attempt, firstStartedAt, previousDelayMs }
    const next = decideNext(this.#policy, history, failure, now, () => chance)
    const delayMs = next.do === 'retry' ? next.delayMs : undefined
    trouble.records.push({ number: attempt, startedAt, endedAt: now, failure: summary, delayMs })
    if (trouble.records.length > caps.maxAttempts) trouble.records.splice(1, 1)
    trouble.previousDelayMs = delayMs ?? 0
    if (next.do === 'retry') this.#lane.retry(item, next.at)
    else this.#lane.gaveUp(item, inTrouble(trouble, next.because))
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
