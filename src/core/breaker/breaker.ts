import { addToWindow, emptyWindow, windowTotal } from '../limit/window.ts'
import type { BreakerPolicy, FailureRate } from './options.ts'
import type { BreakerState, Closed, HalfOpen, Open } from './state.ts'

/** `retryAt` is the latest time from which an attempt may be admitted; undefined if a person has forced the breaker open. */
type Admission =
  | { readonly admitted: true; readonly state: BreakerState }
  | { readonly admitted: false; readonly state: BreakerState; readonly retryAt: number | undefined }

/** `ignored` is a result that says nothing about the dependency: a schema or business error, or a cancellation. */
export type BreakerOutcome = 'success' | 'failure' | 'ignored'

export function initialBreaker(policy: BreakerPolicy, now: number): BreakerState {
  return closed(policy, 0, now)
}

/**
 * Decides whether an attempt may start now, and returns the next state. The caller must settle an admitted attempt once,
 * with the epoch of the returned state. For a closed breaker the caller may skip this call and use the current epoch.
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
    // The clock was set back. The wait starts again; otherwise it would take longer by the size of the step.
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
  // The probes may hang, or their process may have crashed. Their slots become free, so that the breaker does not stay
  // half-open.
  return { admitted: true, state: { ...state, epoch: state.epoch + 1, probesInFlight: 1, lastProbeAt: now } }
}

/** Returns the state after the result of an attempt, and the same object if nothing changes. */
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

/** A success can open the breaker too, because it may be the call that reaches `minimumCalls`. */
function countInWindow(
  policy: BreakerPolicy,
  rate: FailureRate,
  state: Closed,
  failures: number,
  outcome: 'success' | 'failure',
  now: number,
): BreakerState {
  const calls = addToWindow(state.calls ?? emptyWindow(rate.windowMs), now, 1)
  // Adding 0 still advances the window. Both windows must cover the same time, even when the clock is set back.
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

/** A health check succeeded before the open time was over. The breaker becomes half-open, and probes decide. */
export function endOpenEarly(state: BreakerState, now: number): BreakerState {
  if (state.mode !== 'open') return state
  const epoch = state.epoch + 1
  const untried = { successes: 0, probesInFlight: 0, lastProbeAt: now, firstEpoch: epoch }
  return { mode: 'half-open', epoch, since: now, opens: state.opens, ...untried }
}

/** Applies the decision of a person. `auto` returns the breaker to its own rules. Forcing the current mode changes nothing. */
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

/**
 * The state under another policy. Mode and failures in a row stay; an opening keeps its time. The window of the failure rate
 * starts empty if its length is another.
 */
export function changeBreakerPolicy(
  from: BreakerPolicy,
  to: BreakerPolicy,
  state: BreakerState,
): BreakerState {
  if (state.mode !== 'closed' || from.failureRate?.windowMs === to.failureRate?.windowMs) return state
  return { ...closed(to, state.epoch, state.since), failures: state.failures }
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
