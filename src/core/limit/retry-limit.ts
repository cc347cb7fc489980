import type { Random } from '../random.ts'
import { type BatchState, initialBatch, takeFromBatch } from './batch.ts'
import { advance, IDLE, moveClock, notBefore } from './gcra.ts'
import type { Pace, RetryLimitPolicy } from './options.ts'

/**
 * Where the limit stands, by its pace. `seenAt` is the clock at the last retry that was let through or told to wait:
 * a clock found earlier than that was set back, and the state moves back with it. Otherwise nothing would be
 * retried until the clock has caught up.
 */
export type RetryLimitState =
  | { readonly pace: 'smooth'; readonly seenAt: number; readonly tat: number }
  | { readonly pace: 'batch'; readonly seenAt: number; readonly newest: BatchState }

export type RetryLimitDecision =
  | { readonly action: 'go'; readonly state: RetryLimitState }
  | { readonly action: 'wait'; readonly until: number; readonly state: RetryLimitState }
  | { readonly action: 'drop'; readonly state: RetryLimitState }
  | { readonly action: 'dead-letter'; readonly state: RetryLimitState }

export function initialRetryLimit({ pace }: RetryLimitPolicy): RetryLimitState {
  if (pace.kind === 'smooth') return { pace: 'smooth', seenAt: 0, tat: IDLE }
  return { pace: 'batch', seenAt: 0, newest: initialBatch(pace.batch) }
}

/**
 * May one more retry start? `wait` has reserved its turn: it starts at `until` without asking again. A refused retry
 * takes nothing.
 */
export function limitRetry(
  policy: RetryLimitPolicy,
  state: RetryLimitState,
  now: number,
  random: Random,
): RetryLimitDecision {
  const { pace, onLimit, maxWaitMs } = policy
  const turn = nextTurn(pace, state, now)
  if (turn.at <= now) return { action: 'go', state: turn.state }
  if (onLimit !== 'delay') return { action: onLimit, state }
  if (maxWaitMs !== undefined && turn.at - now > maxWaitMs) return { action: 'dead-letter', state }
  const spreadMs = pace.kind === 'smooth' ? policy.jitterRatio * pace.rate.intervalMs : 0
  return { action: 'wait', until: turn.at + random() * spreadMs, state: turn.state }
}

function nextTurn(pace: Pace, state: RetryLimitState, now: number): { at: number; state: RetryLimitState } {
  const setBackMs = Math.max(0, state.seenAt - now)
  if (pace.kind === 'smooth') {
    const before = state.pace === 'smooth' ? state.tat : IDLE
    const tat = setBackMs > 0 ? moveClock(pace.rate, before, state.seenAt, now) : before
    const next = advance(pace.rate, tat, now)
    return { at: notBefore(pace.rate, tat, now), state: { pace: 'smooth', seenAt: now, tat: next } }
  }
  const before = state.pace === 'batch' ? state.newest : initialBatch(pace.batch)
  const moved = setBackMs > 0 ? { ...before, releaseAt: before.releaseAt - setBackMs } : before
  const newest = takeFromBatch(pace.batch, moved, now)
  return { at: newest.releaseAt, state: { pace: 'batch', seenAt: now, newest } }
}
