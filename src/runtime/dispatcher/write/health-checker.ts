import type { Cancel, Clock } from '../../../ports/clock.ts'
import type { Observer } from '../../../ports/observer.ts'
import { Attempt, AttemptContext, type AttemptEnd } from '../../attempt/attempt.ts'
import type { Breaker } from '../../breaker.ts'
import { observe } from '../../observe.ts'
import type { Lane } from '../lane/lane.ts'

/** A sink that can be asked how it is. */
interface Checked {
  readonly lane: Lane
  readonly breaker: Breaker
  readonly probe: (context: AttemptContext) => unknown
}

/**
 * Checks failing dependencies on an interval. Only those whose breaker is open or half-open: a healthy one shows it by
 * working, and one that a person has forced open stays so. While all are well there is no timer.
 *
 * A success counts as a probe's: it ends the open time early and, after as many as the breaker wants, closes it. So the
 * way back takes (successes + 1) intervals at most, whether or not there are events to try it with.
 */
export class HealthChecker {
  readonly #everyMs: number
  readonly #clock: Clock
  readonly #observer: Observer
  readonly #all: readonly Checked[]
  readonly #underWay = new Map<Checked, Attempt>()
  readonly #unwatch: readonly (() => void)[]
  #cancel: Cancel | undefined
  #isClosed = false

  /** A sink without a probe is probed by its next batch. */
  constructor(lanes: Iterable<Lane>, everyMs: number, clock: Clock, observer: Observer) {
    this.#everyMs = everyMs
    this.#clock = clock
    this.#observer = observer
    this.#all = [...lanes].flatMap(lane => {
      const { breaker, sink } = lane.policy
      if (breaker === undefined || sink.probe === undefined) return []
      return [{ lane, breaker, probe: sink.probe.bind(sink) }]
    })
    this.#unwatch = this.#all.map(({ breaker }) => breaker.watch(() => this.#schedule()))
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
    for (const unwatch of this.#unwatch) unwatch()
    for (const attempt of this.#underWay.values()) attempt.abort(new Error('the health checker was closed'))
  }

  #schedule(): void {
    if (this.#isClosed || this.#cancel !== undefined || !this.#all.some(isSick)) return
    this.#cancel = this.#clock.schedule(this.#everyMs, () => {
      this.#cancel = undefined
      for (const one of this.#all) if (isSick(one) && !this.#underWay.has(one)) this.#check(one)
      this.#schedule()
    })
  }

  #check(one: Checked): void {
    const { lane, breaker, probe } = one
    const now = this.#clock.now()
    let epoch: number | undefined
    if (breaker.state.mode === 'half-open') {
      const admission = breaker.admit(now)
      // An event is finding out already.
      if (typeof admission !== 'number') return
      epoch = admission
    }
    const { name, timeoutMs, deadlines } = lane.policy
    const attempt = new Attempt(new AttemptContext(1), name, timeoutMs, deadlines)
    this.#underWay.set(one, attempt)
    void attempt.run(probe, now).then(end => this.#ended(one, epoch, end))
  }

  #ended(one: Checked, epoch: number | undefined, { ok: healthy }: AttemptEnd): void {
    const { lane, breaker } = one
    const { name } = lane
    const observer = this.#observer
    const now = this.#clock.now()
    this.#underWay.delete(one)
    if (this.#isClosed) {
      if (epoch !== undefined) breaker.settle(epoch, 'ignored', now)
      return
    }
    if (observer.healthChecked) observe(observer, 'healthChecked', { name, healthy })
    if (epoch !== undefined) breaker.settle(epoch, healthy ? 'success' : 'failure', now)
    else if (healthy) this.#foundWell(breaker, now)
    // A probe's place may be free.
    lane.breakerChanged()
  }

  #foundWell(breaker: Breaker, now: number): void {
    breaker.endOpenEarly(now)
    if (breaker.state.mode !== 'half-open') return
    const epoch = breaker.admit(now)
    if (typeof epoch === 'number') breaker.settle(epoch, 'success', now)
  }
}

function isSick({ breaker }: Checked): boolean {
  const { mode } = breaker.state
  return mode === 'open' || mode === 'half-open'
}
