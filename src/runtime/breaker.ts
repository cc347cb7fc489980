import {
  admit,
  type BreakerOutcome,
  changeBreakerPolicy,
  endOpenEarly,
  forceBreaker,
  initialBreaker,
  settle,
} from '../core/breaker/breaker.ts'
import { BreakerOpenError } from '../core/breaker/errors.ts'
import {
  type BreakerOptions,
  type BreakerPolicy,
  type BreakerPreset,
  resolveBreaker,
} from '../core/breaker/options.ts'
import type { BreakerMode, BreakerState } from '../core/breaker/state.ts'
import { type Clock, systemClock } from '../ports/clock.ts'
import type { Observer } from '../ports/observer.ts'
import { observe } from './observe.ts'
import { safeObserver } from './user-functions/observer-faults.ts'

/** The state of a breaker, and its statistics since it was made. Times are in milliseconds since 1970. */
export interface BreakerSnapshot {
  readonly name: string
  readonly state: BreakerState
  /** How often the breaker opened, by itself or by a person. */
  readonly opened: number
  /** How often the breaker closed, by itself or by a person. */
  readonly closed: number
  /** The calls that the breaker refused. */
  readonly rejected: number
  /** The calls that the breaker admitted, those that still run included. */
  readonly calls: number
  readonly successes: number
  /** The calls that failed because of the dependency. Schema errors, business errors and cancellations do not count. */
  readonly failures: number
  /** The time of the last such failure. Undefined before the first. */
  readonly lastFailureAt: number | undefined
  /** The time of the last change of mode. Undefined before the first. */
  readonly lastChangeAt: number | undefined
}

interface BreakerSetup {
  readonly name: string
  readonly clock: Clock
  readonly observer: Observer
}

/** A live circuit breaker: holds the state that core/breaker decides on. Share one between calls to one dependency. */
export class Breaker {
  readonly name: string
  #policy: BreakerPolicy
  readonly #clock: Clock
  readonly #observer: Observer
  #state: BreakerState
  readonly #watchers = new Set<() => void>()
  #opened = 0
  #closed = 0
  #rejected = 0
  #calls = 0
  #successes = 0
  #failures = 0
  #lastFailureAt: number | undefined
  #lastChangeAt: number | undefined

  constructor(policy: BreakerPolicy, setup: BreakerSetup) {
    this.name = setup.name
    this.#policy = policy
    this.#clock = setup.clock
    this.#observer = setup.observer
    this.#state = initialBreaker(policy, this.#clock.now())
  }

  get state(): BreakerState {
    return this.#state
  }

  /** Asks for one attempt: the epoch to settle it with, or the error that says why not and until when. */
  admit(now: number): number | BreakerOpenError {
    if (this.#state.mode === 'closed') {
      this.#calls++
      return this.#state.epoch
    }
    const admission = admit(this.#policy, this.#state, now)
    this.#become(admission.state, now)
    if (admission.admitted) {
      this.#calls++
      return admission.state.epoch
    }
    this.#rejected++
    const { name } = this
    if (this.#observer.breakerRejected) observe(this.#observer, 'breakerRejected', { name })
    return new BreakerOpenError({ breaker: name, state: admission.state, retryAt: admission.retryAt })
  }

  /** Whether an attempt would be admitted now; asking takes no probe slot. */
  wouldAdmit(now: number): boolean {
    return this.#state.mode === 'closed' || admit(this.#policy, this.#state, now).admitted
  }

  /** The usual result. A healthy breaker that keeps no window has nothing to note, so it does not look at the clock. */
  succeeded(epoch: number): void {
    const state = this.#state
    if (state.mode === 'closed' && state.failures === 0 && state.calls === undefined) this.#successes++
    else this.settle(epoch, 'success', this.#clock.now())
  }

  settle(epoch: number, outcome: BreakerOutcome, now: number): void {
    if (outcome === 'success') this.#successes++
    if (outcome === 'failure') {
      this.#failures++
      this.#lastFailureAt = now
    }
    this.#become(settle(this.#policy, this.#state, epoch, outcome, now), now)
  }

  /** A health check found the dependency well: an open breaker need not wait for its time to let probes through. */
  endOpenEarly(now: number): void {
    this.#become(endOpenEarly(this.#state, now), now)
  }

  /** Overrules the breaker by hand until it is set back to `auto`. */
  force(to: 'open' | 'closed' | 'auto', by?: string): void {
    const now = this.#clock.now()
    this.#become(forceBreaker(this.#state, to, now, by), now)
  }

  /** Takes over other thresholds and times. The mode stays, and an opening keeps its time. */
  changePolicy(policy: BreakerPolicy): void {
    this.#state = changeBreakerPolicy(this.#policy, policy, this.#state)
    this.#policy = policy
  }

  /** Calls back after every change of mode, until the returned function is called. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed)
    return () => this.#watchers.delete(changed)
  }

  snapshot(): BreakerSnapshot {
    return {
      name: this.name,
      state: this.#state,
      opened: this.#opened,
      closed: this.#closed,
      rejected: this.#rejected,
      calls: this.#calls,
      successes: this.#successes,
      failures: this.#failures,
      lastFailureAt: this.#lastFailureAt,
      lastChangeAt: this.#lastChangeAt,
    }
  }

  #become(state: BreakerState, now: number): void {
    const from = this.#state.mode
    this.#state = state
    if (from === state.mode) return
    this.#lastChangeAt = now
    if (state.mode === 'open' || state.mode === 'forced-open') this.#opened++
    if (state.mode === 'closed' || state.mode === 'forced-closed') this.#closed++
    if (this.#observer.breakerChanged)
      observe(this.#observer, 'breakerChanged', { name: this.name, from, to: state.mode, at: now })
    for (const changed of this.#watchers) changed()
  }
}

interface CreateBreakerSetup extends Partial<BreakerSetup> {
  /** Which side's defaults apply [producer]. */
  readonly preset?: BreakerPreset
}

/** Makes a breaker that several consumers, dispatchers or functions can share. */
export function createBreaker(options: BreakerOptions = {}, setup: CreateBreakerSetup = {}): Breaker {
  const { name = 'breaker', clock = systemClock, observer = {}, preset = 'producer' } = setup
  return new Breaker(resolveBreaker(options, preset), { name, clock, observer: safeObserver(observer) })
}

/** A breaker's mode as a number: 0 lets calls through, 1 probes, 2 refuses. By hand or not makes no difference; no breaker lets calls through. */
export function breakerGauge(mode: BreakerMode | 'off'): 0 | 1 | 2 {
  if (mode === 'open' || mode === 'forced-open') return 2
  return mode === 'half-open' ? 1 : 0
}
