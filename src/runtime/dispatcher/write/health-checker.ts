import type { Cancel, Clock } from '../../../ports/clock.ts'
import type { Observer } from '../../../ports/observer.ts'
import type { Sink } from '../../../ports/sink.ts'
import { Attempt, AttemptContext, type AttemptEnd } from '../../attempt/attempt.ts'
import { type DeadlineLane, deadlinesOf } from '../../attempt/deadlines.ts'
import type { Breaker } from '../../breaker.ts'
import { observe } from '../../observe.ts'

export const DEFAULT_CHECK_EVERY_MS = 10_000

/** A dependency that can be asked how it is. */
interface Checkable {
  readonly name: string
  readonly breaker: Breaker
  readonly probe: NonNullable<Sink['probe']>
  readonly timeoutMs: number
  /** Called after each check. */
  readonly checked: () => void
}

interface HealthCheckerSetup {
  readonly everyMs: number
  readonly clock: Clock
  readonly observer: Observer
}

/**
 * Asks sick dependencies how they are, on an interval. Only those whose breaker is open or half-open: one that is well
 * shows it by working, and one that a person has forced open stays so. While all are well there is no timer.
 *
 * A success counts as a probe's: it ends the open time early and, after as many as the breaker wants, closes it. So the
 * way back takes (successes + 1) intervals at most, whether or not there are events to try it with.
 */
export class HealthChecker {
  readonly #setup: HealthCheckerSetup
  readonly #all: readonly Checkable[]
  readonly #underWay = new Map<Checkable, Attempt>()
  readonly #unwatch: readonly (() => void)[]
  #cancel: Cancel | undefined
  #isClosed = false

  constructor(all: readonly Checkable[], setup: HealthCheckerSetup) {
    this.#all = all
    this.#setup = setup
    this.#unwatch = all.map(({ breaker }) => breaker.watch(() => this.#schedule()))
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
    for (const unwatch of this.#unwatch) unwatch()
    for (const attempt of this.#underWay.values()) attempt.abort(new Error('the health checker was closed'))
  }

  #schedule(): void {
    if (this.#isClosed || this.#cancel !== undefined || !this.#all.some(isSick)) return
    this.#cancel = this.#setup.clock.schedule(this.#setup.everyMs, () => {
      this.#cancel = undefined
      for (const one of this.#all) if (isSick(one) && !this.#underWay.has(one)) this.#check(one)
      this.#schedule()
    })
  }

  #check(one: Checkable): void {
    const { clock } = this.#setup
    const now = clock.now()
    let epoch: number | undefined
    if (one.breaker.state.mode === 'half-open') {
      const admission = one.breaker.admit(now)
      // An event is finding out already.
      if (typeof admission !== 'number') return
      epoch = admission
    }
    const attempt = new Attempt(new AttemptContext(1), one.name, one.timeoutMs, this.#lane(one))
    this.#underWay.set(one, attempt)
    void attempt.run(context => one.probe(context), now).then(end => this.#ended(one, epoch, end))
  }

  #ended(one: Checkable, epoch: number | undefined, { ok: healthy }: AttemptEnd): void {
    const { clock, observer } = this.#setup
    const { name, breaker } = one
    const now = clock.now()
    this.#underWay.delete(one)
    if (this.#isClosed) {
      if (epoch !== undefined) breaker.settle(epoch, 'ignored', now)
      return
    }
    if (observer.healthChecked) observe(observer, 'healthChecked', { name, healthy })
    if (epoch !== undefined) breaker.settle(epoch, healthy ? 'success' : 'failure', now)
    else if (healthy) this.#foundWell(breaker, now)
    one.checked()
  }

  #foundWell(breaker: Breaker, now: number): void {
    breaker.endOpenEarly(now)
    if (breaker.state.mode !== 'half-open') return
    const epoch = breaker.admit(now)
    if (typeof epoch === 'number') breaker.settle(epoch, 'success', now)
  }

  #lane({ timeoutMs }: Checkable): DeadlineLane {
    return deadlinesOf(this.#setup.clock).lane(timeoutMs)
  }
}

function isSick({ breaker }: Checkable): boolean {
  const { mode } = breaker.state
  return mode === 'open' || mode === 'half-open'
}
