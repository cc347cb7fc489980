import { emptyWindow, type Window } from '../limit/window.ts'
import { initialBreaker, openDurationMs } from './breaker.ts'
import type { BreakerPolicy } from './options.ts'
import type { BreakerState, Closed, HalfOpen, Open } from './state.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * A breaker from stored JSON. What is malformed becomes a fresh breaker: one that must be repaired by hand would be
 * worse than one that has forgotten. What a changed policy makes meaningless is dropped, the rest is kept.
 */
export function restoreBreaker(policy: BreakerPolicy, value: unknown, now: number): BreakerState {
  return read(policy, value) ?? initialBreaker(policy, now)
}

function read(policy: BreakerPolicy, value: unknown): BreakerState | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const stored = value as Fields
  const { mode, epoch, since, by } = stored
  if (!isCount(epoch) || !isTime(since)) return undefined
  switch (mode) {
    case 'closed':
      return readClosed(policy, stored, epoch, since)
    case 'open':
      return readOpen(policy, stored, epoch, since)
    case 'half-open':
      return readHalfOpen(stored, epoch, since)
    case 'forced-open':
    case 'forced-closed':
      return { mode, epoch, since, ...(typeof by === 'string' ? { by } : {}) }
    default:
      return undefined
  }
}

function readClosed(policy: BreakerPolicy, stored: Fields, epoch: number, since: number): Closed | undefined {
  const { failures, calls, failed } = stored
  if (!isCount(failures)) return undefined
  const counted: Closed = { mode: 'closed', epoch, since, failures }
  if (policy.failureRate === undefined) return counted
  const shape = emptyWindow(policy.failureRate.windowMs)
  return isWindow(calls, shape) && isWindow(failed, shape) ? { ...counted, calls, failed } : counted
}

function readOpen(policy: BreakerPolicy, stored: Fields, epoch: number, since: number): Open | undefined {
  const { until, opens } = stored
  if (!isTime(until) || until < since || !isCount(opens) || opens === 0) return undefined
  // Bounded by today's policy: a deploy that shortens the pause shortens this one too.
  return { mode: 'open', epoch, since, until: Math.min(until, since + openDurationMs(policy, opens)), opens }
}

function readHalfOpen(stored: Fields, epoch: number, since: number): HalfOpen | undefined {
  const { opens, successes, probesInFlight, lastProbeAt, firstEpoch } = stored
  if (!isCount(opens) || !isCount(successes) || !isCount(probesInFlight)) return undefined
  if (!isTime(lastProbeAt) || !isCount(firstEpoch) || firstEpoch > epoch) return undefined
  return { mode: 'half-open', epoch, since, opens, successes, probesInFlight, lastProbeAt, firstEpoch }
}

function isWindow(value: unknown, shape: Window): value is Window {
  if (typeof value !== 'object' || value === null) return false
  const { sliceMs, slice, counts } = value as Fields
  if (sliceMs !== shape.sliceMs || !Number.isSafeInteger(slice)) return false
  return Array.isArray(counts) && counts.length === shape.counts.length && counts.every(isCount)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime())
}
