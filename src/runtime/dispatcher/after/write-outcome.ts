import { summariseFailure } from '../../../core/dead-letter/create.ts'
import type { AttemptFailure } from '../../../core/dead-letter/letter.ts'
import { type Failure, isDependencyFailure } from '../../../core/failure/failure.ts'
import { monotonicNow } from '../../../ports/clock.ts'
import {
  classifyThrown,
  decideNext,
  type FailureDecision,
  observeFailedAttempt,
  observeTimeout,
  settleFailed,
} from '../../attempt/after-failure.ts'
import { observe } from '../../observe.ts'
import type { Item } from '../lane/item.ts'
import type { LanePolicy } from '../lane/lane-options.ts'
import type { Write, WriteEnd } from '../write/write.ts'

/** Why one or more items of a write failed: worked out once for all of them. */
interface WriteFailure {
  readonly thrown: unknown
  readonly failure: Failure
  readonly summary: AttemptFailure
  /** One draw for all of a write: items that failed together are retried together and not one by one. */
  readonly chance: number
}

type FailureOf = (item: Item) => WriteFailure | undefined

/** Tells the breaker, the trace and the observer how a write ended. Answers which of its items failed, and why; undefined if none did. */
export function settleWrite(
  policy: LanePolicy,
  write: Write,
  end: WriteEnd,
  now: number,
): FailureOf | undefined {
  const { items, startedAt, epoch } = write
  const { breaker, name, observer } = policy
  if (!end.ok) {
    const failed = writeFailure(policy, end.thrown, now, policy.random())
    write.ended(failed.failure)
    settleFailed(policy, epoch, failed.failure, now)
    observeTimeout(policy, (items[0]?.failures?.attempts ?? 0) + 1, end.thrown)
    return () => failed
  }
  const failures = end.rejected.length === 0 ? undefined : rejections(policy, items, end.rejected, now)
  const count = items.length - (failures?.size ?? 0)
  if (count > 0) {
    write.ended()
    breaker?.succeeded(epoch)
    if (observer.batchWritten)
      observe(observer, 'batchWritten', { name, count, durationMs: Math.max(0, now - startedAt) })
  } else {
    const all = Array.from(failures?.values() ?? [], ({ failure }) => failure)
    write.ended(all[0])
    breaker?.settle(epoch, all.some(isDependencyFailure) ? 'failure' : 'ignored', now)
  }
  return failures && (item => failures.get(item))
}

/** Most sinks refuse many items for one reason, and then give one error for all of them. */
function rejections(
  policy: LanePolicy,
  items: readonly Item[],
  rejected: Extract<WriteEnd, { readonly ok: true }>['rejected'],
  now: number,
): ReadonlyMap<Item, WriteFailure> {
  const failures = new Map<Item, WriteFailure>()
  const byError = new Map<unknown, WriteFailure>()
  const chance = policy.random()
  for (const { index, error } of rejected) {
    const item = items[index]
    if (item === undefined) continue
    const failure = byError.get(error) ?? writeFailure(policy, error, now, chance)
    byError.set(error, failure)
    failures.set(item, failure)
  }
  return failures
}

function writeFailure(policy: LanePolicy, thrown: unknown, now: number, chance: number): WriteFailure {
  const failure = classifyThrown(policy, thrown, now)
  return { thrown, failure, summary: summariseFailure(failure, failure.fingerprint.id, policy.caps), chance }
}

/** Adds a failed attempt to the history of an item, and decides what follows it. */
export function recordFailure(
  policy: LanePolicy,
  item: Item,
  { thrown, failure, summary, chance }: WriteFailure,
  { startedAt, startedSteadyAt }: Pick<Write, 'startedAt' | 'startedSteadyAt'>,
  now: number,
): FailureDecision {
  item.failures ??= {
    attempts: 0,
    firstStartedAt: startedAt,
    firstSteadyAt: startedSteadyAt,
    previousDelayMs: 0,
    failure,
    thrown,
    records: [],
  }
  const history = item.failures
  const attempt = ++history.attempts
  history.failure = failure
  history.thrown = thrown
  observeFailedAttempt(policy, attempt, failure)
  const { firstStartedAt, firstSteadyAt, previousDelayMs, records } = history
  // The limit may be new: it was read from a file after the first attempt.
  const elapsedMs =
    firstSteadyAt === undefined ? now - firstStartedAt : monotonicNow(policy.clock) - firstSteadyAt
  const next = decideNext(policy, { attempt, elapsedMs, previousDelayMs }, failure, now, () => chance)
  const delayMs = next.do === 'retry' ? next.delayMs : undefined
  records.push({ number: attempt, startedAt, endedAt: now, failure: summary, delayMs })
  if (records.length > policy.caps.maxAttempts) records.splice(1, 1)
  history.previousDelayMs = delayMs ?? 0
  return next
}

export function observeDelivered(
  { name, observer }: LanePolicy,
  { failures }: Item,
  startedAt: number,
  now: number,
): void {
  if (failures === undefined && observer.callSucceeded === undefined) return
  const { attempts: failed = 0, firstStartedAt = startedAt } = failures ?? {}
  const attempts = failed + 1
  if (observer.callSucceeded)
    observe(observer, 'callSucceeded', { name, attempts, durationMs: Math.max(0, now - firstStartedAt) })
  if (failed > 0 && observer.retrySucceeded) observe(observer, 'retrySucceeded', { name, attempts })
}

/** The write timed out and counts as failed, but the sink has accepted the item: that attempt succeeded. */
export function observeLateDelivery({ name, observer }: LanePolicy, { failures }: Item, now: number): void {
  const { attempts = 1, firstStartedAt = now } = failures ?? {}
  if (observer.callSucceeded)
    observe(observer, 'callSucceeded', { name, attempts, durationMs: Math.max(0, now - firstStartedAt) })
}
