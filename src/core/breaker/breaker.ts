import { addToWindow, emptyWindow, windowTotal } from '../limit/window.ts'
import type { BreakerPolicy, FailureRate } from './options.ts'
import type { BreakerState, Closed, HalfOpen, Open } from './state.ts'

/** `retryAt` is when asking again may help at the latest; undefined means: not before a person lets go of it. */
type Admission =
  | { readonly admitted: true; readonly state: BreakerState }
  | { readonly admitted: false; readonly state: BreakerState; readonly retryAt: number | undefined }

/** `ignored` says nothing of the dependency: a schema or business error, a cancellation. */
export type BreakerOutcome = 'success' | 'failure' | 'ignored'

export function initialBreaker(policy: BreakerPolicy, now: number): BreakerState {
  return closed(policy, 0, now)
}

/**
 * Whether an attempt may start now, and the state after asking. Who is admitted must settle once, with the epoch of
 * the state returned here. A closed breaker need not be asked: its own epoch is the one to settle with.
 */
export function admit(policy: BreakerPolicy, state: BreakerState, now: number): Admission {
  switch (state.mode) {
    case 'closed':
    case 'forced-closed':
      return { admitted: true, state }
    case 'open':
      return admitToOpen(state, now)
    case 'half-open':
      return admitToHalfOpen(policy, state, now)
    case 'forced-open':
      return { admitted: false, state, retryAt: undefined }
  }
}

function admitToOpen(state: Open, now: number): Admission {
  const { epoch, since, until, opens } = state
  if (now < since) {
    // The clock was set back: the time to wait starts over, or it would last as long as the jump was wide.
    const moved: Open = { ...state, since: now, until: now + (until - since) }
    return { admitted: false, state: moved, retryAt: moved.until }
  }
  if (now < until) return { admitted: false, state, retryAt: until }
  return {
    admitted: true,
    state: {
      mode: 'half-open',
      epoch: epoch + 1,
      since: now,
      opens,
      successes: 0,
      probesInFlight: 1,
      lastProbeAt: now,
      firstEpoch: epoch + 1,
    },
  }
}

function admitToHalfOpen(policy: BreakerPolicy, state: HalfOpen, now: number): Admission {
  if (state.probesInFlight < policy.probes) {
    const probesInFlight = state.probesInFlight + 1
    return { admitted: true, state: { ...state, probesInFlight, lastProbeAt: now } }
  }
  if (now < state.lastProbeAt) {
    return { admitted: false, state: { ...state, lastProbeAt: now }, retryAt: now + policy.openMs }
  }
  const givenUpAt = state.lastProbeAt + policy.openMs
  if (now < givenUpAt) return { admitted: false, state, retryAt: givenUpAt }
  // Their process may have crashed, their call may hang: their slots are free again.
  return { admitted: true, state: { ...state, epoch: state.epoch + 1, probesInFlight: 1, lastProbeAt: now } }
}

/** The state after an attempt's result. The same reference when the result changes nothing. */
export function settle(
  policy: BreakerPolicy,
  state: BreakerState,
  epoch: number,
  outcome: BreakerOutcome,
  now: number,
): BreakerState {
  switch (state.mode) {
    case 'closed':
      return epoch === state.epoch && outcome !== 'ignored' ? count(policy, state, outcome, now) : state
    case 'half-open':
      return epoch >= state.firstEpoch && epoch <= state.epoch
        ? weighProbe(policy, state, epoch, outcome, now)
        : state
    default:
      return state
  }
}

function count(
  policy: BreakerPolicy,
  state: Closed,
  outcome: 'success' | 'failure',
  now: number,
): BreakerState {
  const failures = outcome === 'failure' ? state.failures + 1 : 0
  if (policy.failures !== 'off' && failures >= policy.failures) return open(policy, state.epoch + 1, 1, now)
  if (policy.failureRate !== undefined)
    return countInWindow(policy, policy.failureRate, state, failures, outcome, now)
  return failures === state.failures ? state : { ...state, failures }
}

/** A success can tip the rate too: it may be the call that makes the sample large enough to be believed. */
function countInWindow(
  policy: BreakerPolicy,
  rate: FailureRate,
  state: Closed,
  failures: number,
  outcome: 'success' | 'failure',
  now: number,
): BreakerState {
  const calls = addToWindow(state.calls ?? emptyWindow(rate.windowMs), now, 1)
  // Adding nothing still moves the window on: both must cover the same time even when the clock goes back.
  const failed = addToWindow(state.failed ?? emptyWindow(rate.windowMs), now, outcome === 'failure' ? 1 : 0)
  const total = windowTotal(calls, now)
  if (total >= rate.minimumCalls && windowTotal(failed, now) / total >= rate.threshold) {
    return open(policy, state.epoch + 1, 1, now)
  }
  return { ...state, failures, calls, failed }
}

function weighProbe(
  policy: BreakerPolicy,
  state: HalfOpen,
  epoch: number,
  outcome: BreakerOutcome,
  now: number,
): BreakerState {
  if (outcome === 'failure') return open(policy, state.epoch + 1, state.opens + 1, now)
  const holdsSlot = epoch === state.epoch && state.probesInFlight > 0
  const probesInFlight = holdsSlot ? state.probesInFlight - 1 : state.probesInFlight
  if (outcome === 'ignored') return holdsSlot ? { ...state, probesInFlight } : state
  const successes = state.successes + 1
  if (successes >= policy.successes) return closed(policy, state.epoch + 1, now)
  return { ...state, probesInFlight, successes }
}

/** Someone found the dependency well before the open time was over: from now on probes find out for sure. */
export function endOpenEarly(state: BreakerState, now: number): BreakerState {
  if (state.mode !== 'open') return state
  const epoch = state.epoch + 1
  const untried = { successes: 0, probesInFlight: 0, lastProbeAt: now, firstEpoch: epoch }
  return { mode: 'half-open', epoch, since: now, opens: state.opens, ...untried }
}

/** A person's decision. `auto` lets go of it again. Asking for what already holds changes nothing. */
export function forceBreaker(
  state: BreakerState,
  to: 'open' | 'closed' | 'auto',
  now: number,
  by?: string,
): BreakerState {
  const next = { epoch: state.epoch + 1, since: now }
  if (to !== 'auto') {
    const mode = to === 'open' ? 'forced-open' : 'forced-closed'
    return state.mode === mode ? state : { mode, ...next, ...(by === undefined ? {} : { by }) }
  }
  if (state.mode === 'forced-closed') return { mode: 'closed', ...next, failures: 0 }
  if (state.mode !== 'forced-open') return state
  const untried = { opens: 0, successes: 0, probesInFlight: 0, lastProbeAt: now, firstEpoch: next.epoch }
  return { mode: 'half-open', ...next, ...untried }
}

/** How long the n-th opening in a row lasts. */
function openDurationMs(policy: BreakerPolicy, opens: number): number {
  if (policy.openMaxMs === undefined) return policy.openMs
  return Math.min(policy.openMs * 2 ** (opens - 1), policy.openMaxMs)
}

function open(policy: BreakerPolicy, epoch: number, opens: number, now: number): Open {
  return { mode: 'open', epoch, since: now, until: now + openDurationMs(policy, opens), opens }
}

function closed(policy: BreakerPolicy, epoch: number, now: number): Closed {
  const fresh: Closed = { mode: 'closed', epoch, since: now, failures: 0 }
  if (policy.failureRate === undefined) return fresh
  const empty = emptyWindow(policy.failureRate.windowMs)
  return { ...fresh, calls: empty, failed: empty }
}
