import {
  addToNewestSlice,
  addToWindow,
  emptyWindow,
  followClock,
  isInNewestSlice,
  type Window,
  windowTotal,
} from '../limit/window.ts'
import { group, type Resolved, resolveOptions } from '../options/resolve.ts'
import { integer, number, type Rule, withDefault } from '../options/rules.ts'

/**
 * A retry budget bounds what all retries together add to the traffic. Attempts per event cannot do that: when a
 * dependency is down and everything fails, 3 retries each are four times the traffic.
 */
export interface BudgetOptions {
  /** Retries for each call: 0.2 lets retries add a fifth to the traffic [0.2]. */
  readonly ratio?: number | undefined
  /** Retries per second that are always allowed, so that services with little traffic can retry [10]. */
  readonly floorPerSecond?: number | undefined
  /** The time over which calls and retries count, in ms, at least 1 000 [10 000]. */
  readonly windowMs?: number | undefined
}

const DEFAULT_BUDGET_RATIO = 0.2
const DEFAULT_BUDGET_FLOOR_PER_SECOND = 10
const DEFAULT_BUDGET_WINDOW_MS = 10_000

const rules = {
  ratio: withDefault(number({ min: 0 }), DEFAULT_BUDGET_RATIO),
  floorPerSecond: withDefault(number({ min: 0 }), DEFAULT_BUDGET_FLOOR_PER_SECOND),
  windowMs: withDefault(integer({ min: 1_000 }), DEFAULT_BUDGET_WINDOW_MS),
}

export type BudgetPolicy = Resolved<typeof rules>

/** For the options of a consumer or dispatcher, which report a budget's faults together with their own. */
export const budgetRule: Rule<BudgetPolicy> = group(rules)

export function resolveBudget(input: BudgetOptions | undefined): BudgetPolicy {
  return resolveOptions('budget', rules, input)
}

/**
 * Calls are first attempts. The retries' window is one slice longer than the calls', so that at any moment it reaches
 * back at least `windowMs` and the calls' at most that far. Hence the bound, exact for a clock that does not go back:
 * in the `windowMs` that end with any admitted retry, there are at most ratio × calls + floorPerSecond × seconds
 * retries. The price is that up to one slice, a tenth of the window, may be admitted less than that.
 */
export interface BudgetState {
  readonly calls: Window
  readonly retries: Window
}

/** Keeps 0.29 × 100 calls from being worth 28 retries: the product is a hair below 29. */
const ROUNDING = 1e-9

export function initialBudget(policy: BudgetPolicy): BudgetState {
  const calls = emptyWindow(policy.windowMs)
  return { calls, retries: { ...calls, counts: [0, ...calls.counts] } }
}

export function recordCall(state: BudgetState, now: number): BudgetState {
  return { calls: addToWindow(state.calls, now, 1), retries: state.retries }
}

/** Whether a call at this time can be counted later, together with others, by `recordNewestCalls`. */
export function isInNewestCalls({ calls }: BudgetState, now: number): boolean {
  return isInNewestSlice(calls, now)
}

/** The same state as after `recordCall` for each of these calls. */
export function recordNewestCalls({ calls, retries }: BudgetState, count: number): BudgetState {
  return { calls: addToNewestSlice(calls, count), retries }
}

export function admitRetry(
  policy: BudgetPolicy,
  state: BudgetState,
  now: number,
): { readonly admitted: boolean; readonly state: BudgetState } {
  const { ratio, floorPerSecond, windowMs } = policy
  // Also where it refuses: otherwise it would refuse until a clock that was set back has caught up.
  const calls = followClock(state.calls, now)
  const retries = followClock(state.retries, now)
  const followed = calls === state.calls && retries === state.retries ? state : { calls, retries }
  const allowed = ratio * windowTotal(calls, now) + floorPerSecond * (windowMs / 1_000)
  if (windowTotal(retries, now) + 1 > allowed + ROUNDING) return { admitted: false, state: followed }
  return { admitted: true, state: { calls, retries: addToWindow(retries, now, 1) } }
}
