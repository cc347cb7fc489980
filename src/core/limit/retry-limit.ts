import type { Random } from '../random.ts'
import { type BatchState, initialBatch, takeFromBatch } from './batch.ts'
import { advance, IDLE, moveClock, notBefore } from './gcra.ts'
import type { RetryLimitPolicy, RetryPacing } from './options.ts'

/**
 * The state of a retry limit, by its pacing. `seenAt` is the time of the last retry that was admitted or delayed. A clock
 * that shows an earlier time was set back, and the state moves back with it. Otherwise no retry would start until the
 * clock has caught up.
 */
export type RetryLimitState =
  | { readonly pacing: 'smooth'; readonly seenAt: number; readonly tat: number }
  | { readonly pacing: 'batch'; readonly seenAt: number; readonly newest: BatchState }

export type RetryLimitDecision =
  | { readonly action: 'go'; readonly state: RetryLimitState }
  | { readonly action: 'wait'; readonly until: number; readonly state: RetryLimitState }
  | { readonly action: 'drop'; readonly state: RetryLimitState }
  | { readonly action: 'dead-letter'; readonly state: RetryLimitState }

export function initialRetryLimit({ pacing }: RetryLimitPolicy): RetryLimitState {
  if (pacing.kind === 'smooth') return { pacing: 'smooth', seenAt: 0, tat: IDLE }
  return { pacing: 'batch', seenAt: 0, newest: initialBatch(pacing.batch) }
}

/**
 * Decides whether one more retry may start. `wait` has reserved a turn: the retry starts at `until` without asking again. A
 * refused retry takes no turn.
 */
export function limitRetry(
  policy: RetryLimitPolicy,
  state: RetryLimitState,
  now: number,
  random: Random,
): RetryLimitDecision {
  const { pacing, onLimit, maxWaitMs } = policy
  const turn = nextTurn(pacing, state, now)
  if (turn.at <= now) return { action: 'go', state: turn.state }
  if (onLimit !== 'delay') return { action: onLimit, state }
  if (maxWaitMs !== undefined && turn.at - now > maxWaitMs) return { action: 'dead-letter', state }
  const spreadMs = pacing.kind === 'smooth' ? policy.jitterRatio * pacing.rate.intervalMs : 0
  return { action: 'wait', until: turn.at + random() * spreadMs, state: turn.state }
}

function nextTurn(
  pacing: RetryPacing,
  state: RetryLimitState,
  now: number,
): { at: number; state: RetryLimitState } {
  const setBackMs = Math.max(0, state.seenAt - now)
  if (pacing.kind === 'smooth') {
    const before = state.pacing === 'smooth' ? state.tat : IDLE
    const tat = setBackMs > 0 ? moveClock(pacing.rate, before, state.seenAt, now) : before
    const next = advance(pacing.rate, tat, now)
    return { at: notBefore(pacing.rate, tat, now), state: { pacing: 'smooth', seenAt: now, tat: next } }
  }
  const before = state.pacing === 'batch' ? state.newest : initialBatch(pacing.batch)
  const moved = setBackMs > 0 ? { ...before, releaseAt: before.releaseAt - setBackMs } : before
  const newest = takeFromBatch(pacing.batch, moved, now)
  return { at: newest.releaseAt, state: { pacing: 'batch', seenAt: now, newest } }
}
