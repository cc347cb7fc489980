import { summariseFailure } from '../../core/dead-letter/create.ts'
import { REPLAY_HEADERS } from '../../core/event/replay-headers.ts'
import { classify } from '../../core/failure/classify.ts'
import { saysDependencyIsSick } from '../../core/failure/failure.ts'
import { judgePoison } from '../../core/poison/poison.ts'
import { decideRetry } from '../../core/retry/decide.ts'
import { endStep, quietly, runIn } from '../../ports/following.ts'
import type { Step } from '../../ports/tracing.ts'
import { Attempt } from '../attempt.ts'
import { type DeadlineLane, deadlinesOf } from '../deadlines.ts'
import type { LimitedTurn } from '../fleet/fleet-turns.ts'
import { observe } from '../observe.ts'
import { Burial } from './burial.ts'
import { Claims } from './claims.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import { HandlerContext } from './handler-context.ts'
import { type Host, type Next, Settling } from './settling.ts'
import { type Refusal, vet } from './vet.ts'
import type { Work } from './work.ts'

/** A delivery whose ledger could not be asked is given back for so long. */
const LEDGER_REST_MS = 1_000

/** Aborts the attempts that are still running when the grace time is over. */
export class ShuttingDown extends Error {
  override readonly name = 'ShuttingDown'
}

/**
 * Takes one delivery from its arrival to its settlement:
 *
 *   vet ─▶ its turn? ─▶ breaker ─▶ ledger ─▶ begin ─▶ attempt ─▶ done | retry | dead
 *
 * Every decision is core's; this asks, waits and tells. The breaker is asked before the ledger, because a claim that
 * waits for a sick dependency would only run out.
 */
export class Handling {
  readonly #policy: ConsumerPolicy
  readonly #host: Host
  readonly #settling: Settling
  readonly #burial: Burial
  readonly #lane: DeadlineLane
  readonly #claims: Claims | undefined

  constructor(policy: ConsumerPolicy, host: Host) {
    this.#policy = policy
    this.#host = host
    this.#settling = new Settling(policy, host)
    this.#burial = new Burial(policy, host, this.#settling)
    this.#lane = deadlinesOf(policy.clock).lane(policy.timeoutMs)
    this.#claims = policy.ledger && new Claims(policy.ledger, policy)
  }

  /** Answers at once where nothing has to be waited for. */
  handle(work: Work): Next | Promise<Next> {
    const now = this.#policy.clock.now()
    if (work.vetted) return this.#enter(work, now)
    if (work.replay > 0 && !this.#isFor(work)) return this.#settling.done(work, 'skipped', now)
    const vetted = vet(this.#policy, work, now)
    if (vetted instanceof Promise) return vetted.then(refusal => this.#judged(work, refusal, now))
    return this.#judged(work, vetted, now)
  }

  /** A replay is for the handler that failed; the others of the channel have handled the event already. */
  #isFor(work: Work): boolean {
    return (work.event.headers[REPLAY_HEADERS.handler] ?? this.#policy.name) === this.#policy.name
  }

  #judged(work: Work, refusal: Refusal | undefined, now: number): Next | Promise<Next> {
    if (refusal === undefined) {
      work.vetted = true
      return this.#enter(work, now)
    }
    const failure = classify(refusal.thrown, { rules: this.#policy.classify, now })
    return this.#burial.bury(work, { ...refusal, failure }, now)
  }

  /** Asks who has a say before an attempt. */
  #enter(work: Work, now: number): Next | Promise<Next> {
    const { breaker } = this.#policy
    if (work.started > 0 && !work.hasTurn) {
      const next = this.#takeTurn(work, now)
      if (next !== undefined) return next
    }
    if (work.started > 0) this.#tellAllowed()
    // A turn is for now. Kept while the breaker is open, turns would add up and all be used at once.
    work.hasTurn = false
    let epoch = 0
    if (breaker !== undefined) {
      const admission = breaker.admit(now)
      if (typeof admission !== 'number') return this.#whenOpen(work, admission.retryAt, now)
      epoch = admission
    }
    return this.#claims === undefined
      ? this.#attempt(work, epoch, now)
      : this.#claimFirst(this.#claims, work, epoch)
  }

  /** Gives back what was not started, when the consumer closes. */
  giveBack(work: Work): Next | Promise<Next> {
    return this.#settling.giveBack(work, this.#policy.clock.now())
  }

  async #attempt(work: Work, epoch: number, now: number): Promise<Next> {
    const { clock, budget, breaker, name, timeoutMs, handle, trails, observer } = this.#policy
    const { subscription, attempts, closing } = this.#host
    let startedAt = now
    try {
      const begun = subscription.begin(work.delivery, work.takeUnrecorded())
      if (begun !== undefined) {
        await begun
        startedAt = clock.now()
      }
    } catch (error) {
      breaker?.settle(epoch, 'ignored', clock.now())
      await this.#claims?.release(work)
      return this.#settling.lost(error)
    }
    work.started++
    // The grace time ended while the broker was writing down the start: nobody would abort this one any more.
    if (closing.aborted) return this.#interrupted(work, epoch)
    if (work.started === 1) budget?.recordCall(startedAt)
    const step = trails?.attempt(work, startedAt)
    const context = new HandlerContext(work.started, work.replay, step)
    const attempt = new Attempt(context, name, timeoutMs, this.#lane)
    attempts.add(attempt)
    const run = () => handle(work.input, context)
    const end = await attempt.run(step === undefined ? run : () => runIn(step, run), startedAt)
    attempts.delete(attempt)
    const endedAt = observer.handlerEnded && this.#tellEnded(work, startedAt, end.ok)
    if (end.ok) {
      if (step !== undefined) endStep(step)
      return this.#succeeded(work, epoch, startedAt, endedAt)
    }
    if (end.thrown instanceof ShuttingDown) {
      if (step !== undefined) quietly(() => step.takenBack())
      return this.#interrupted(work, epoch)
    }
    return this.#failed(work, epoch, startedAt, end.thrown, step)
  }

  #tellEnded(work: Work, startedAt: number, succeeded: boolean): number {
    const { channel, name, clock, observer } = this.#policy
    const now = clock.now()
    const durationMs = Math.max(0, now - startedAt)
    observe(observer, 'handlerEnded', { channel, name, attempt: work.started, succeeded, durationMs })
    return now
  }

  #succeeded(
    work: Work,
    epoch: number,
    startedAt: number,
    endedAt: number | undefined,
  ): Next | Promise<Next> {
    this.#policy.breaker?.succeeded(epoch)
    if (this.#claims !== undefined || work.replay > 0) return this.#writeDown(work, startedAt)
    work.endedAt = endedAt
    return this.#settling.done(work, 'done', startedAt)
  }

  /** That the event was handled is written down where others look for it, before it is acknowledged. */
  async #writeDown(work: Work, startedAt: number): Promise<Next> {
    await this.#claims?.complete(work)
    if (work.replay > 0 && !(await this.#burial.resolve(work, 'recovered')))
      return this.#settling.giveBack(work, this.#policy.clock.now())
    return this.#settling.done(work, 'done', startedAt)
  }

  /** The grace time was over before the handler was: the start is taken back, so closing costs no attempt. */
  async #interrupted(work: Work, epoch: number): Promise<Next> {
    const now = this.#policy.clock.now()
    this.#policy.breaker?.settle(epoch, 'ignored', now)
    await this.#claims?.release(work)
    return this.#settling.giveBack(work, now)
  }

  async #failed(
    work: Work,
    epoch: number,
    startedAt: number,
    thrown: unknown,
    step: Step | undefined,
  ): Promise<Next> {
    const {
      name,
      breaker,
      clock,
      observer,
      classify: rules,
      caps,
      retry,
      random,
      poison,
      budget,
    } = this.#policy
    const now = clock.now()
    const failure = classify(thrown, { rules, now, stack: caps.keepStack })
    if (step !== undefined) endStep(step, failure)
    const { started: attempt, previousDelayMs } = work
    if (observer.attemptFailed) observe(observer, 'attemptFailed', { name, attempt, failure })
    breaker?.settle(epoch, saysDependencyIsSick(failure) ? 'failure' : 'ignored', now)
    await this.#claims?.release(work)

    const elapsedMs = now - (work.firstStartedAt ?? startedAt)
    const decision = decideRetry(retry, { failure, attempt, elapsedMs, previousDelayMs }, random)
    const { poisoned } = judgePoison(work.cycleHistory({ failure, at: now }), poison, now)
    const wanted = decision.action === 'retry' && !poisoned
    const again = wanted && (budget?.admitRetry(now) ?? true)
    work.record({
      number: attempt,
      startedAt,
      endedAt: now,
      failure: summariseFailure(failure, caps),
      delayMs: again ? decision.delayMs : undefined,
    })
    if (again) {
      const { delayMs, delayFrom } = decision
      if (observer.retryScheduled)
        observe(observer, 'retryScheduled', { name, attempt: attempt + 1, delayMs, delayFrom })
      if (delayMs <= this.#policy.inProcessWaitMs) return { do: 'wait', delayMs }
      return this.#settling.retry(work, now + delayMs, startedAt)
    }
    if (wanted && observer.budgetExhausted) observe(observer, 'budgetExhausted', { name })
    const given = decision.action === 'give-up' ? decision.reason : 'retry_budget'
    // Poison says more than that the attempts are used up; that trying again cannot help says more than both.
    const reason = poisoned && given !== 'permanent' ? 'poison' : given
    if (observer.gaveUp) observe(observer, 'gaveUp', { name, attempts: attempt, reason, failure })
    return this.#burial.bury(work, { reason, failure, thrown }, startedAt)
  }

  /** A retry asks the retry limit for its turn; undefined means that it is now. */
  #takeTurn(work: Work, now: number): Next | Promise<Next> | undefined {
    const { retryLimit, random } = this.#policy
    if (retryLimit === undefined) return undefined
    const turn = retryLimit.ask(now, random)
    if (turn.action === 'go') return undefined
    return turn.action === 'pending' ? { do: 'hear', turn } : this.limited(work, turn, now)
  }

  /** Its turn has come, at once or after a wait. */
  #tellAllowed(): void {
    const { name, observer, retryLimit } = this.#policy
    if (retryLimit !== undefined && observer.retryAllowed) observe(observer, 'retryAllowed', { name })
  }

  /** The retry limit has no turn for it now. */
  limited(work: Work, turn: LimitedTurn, now: number): Next | Promise<Next> {
    const { name, observer } = this.#policy
    const action = turn.action === 'wait' ? 'delay' : turn.action
    if (observer.retryLimited) observe(observer, 'retryLimited', { name, action })
    if (turn.action === 'wait') {
      work.hasTurn = true
      return { do: 'wait', delayMs: Math.max(0, turn.until - now) }
    }
    // A replay is never dropped: its letter waits to hear how it went.
    if (turn.action === 'dead-letter' || work.replay > 0)
      return this.#burial.bury(work, { reason: 'retry_limited' }, now)
    if (observer.eventDropped)
      observe(observer, 'eventDropped', { name, type: work.event.type, reason: 'retry_limited' })
    return this.#settling.done(work, 'dead', now)
  }

  #whenOpen(work: Work, retryAt: number | undefined, now: number): Next | Promise<Next> {
    const { whenOpen } = this.#policy
    if (whenOpen === 'dead-letter') return this.#burial.bury(work, { reason: 'breaker_open' }, now)
    // Forced open by hand there is no time to come back at: it waits here like the others.
    if (whenOpen === 'retry-later' && retryAt !== undefined) return this.#settling.giveBack(work, retryAt)
    return { do: 'pause', retryAt }
  }

  async #claimFirst(claims: Claims, work: Work, epoch: number): Promise<Next> {
    const { breaker, clock } = this.#policy
    const claim = await claims.claim(work)
    const now = clock.now()
    if (claim.kind === 'claimed') return this.#attempt(work, epoch, now)
    breaker?.settle(epoch, 'ignored', now)
    if (claim.kind === 'unknown') return this.#settling.giveBack(work, now + LEDGER_REST_MS)
    if (claim.kind === 'busy') return this.#settling.giveBack(work, Math.max(now, claim.until))
    if (work.replay > 0 && !(await this.#burial.resolve(work, 'skipped')))
      return this.#settling.giveBack(work, now)
    return this.#settling.done(work, 'skipped', now)
  }
}
