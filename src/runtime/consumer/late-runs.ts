import type { Attempt, AttemptEnd } from '../attempt.ts'
import { lateEnd } from '../late-end.ts'
import { observe } from '../observe.ts'
import type { Burial } from './burial.ts'
import type { Claims } from './claims.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { Failing, Told } from './failing.ts'
import type { HandlerContext } from './handler-context.ts'
import { LateRun } from './late-run.ts'
import type { Runs } from './runs.ts'
import type { Host, Next, Settling } from './settling.ts'
import type { Work } from './work.ts'

/** A handler that is aborted because the consumer closes may take so long to end before its claim is left to its lease. */
const ABORT_REST_MS = 100
const NEVER = new AbortController().signal

export interface LateParts {
  readonly runs: Runs
  readonly claims: Claims | undefined
  readonly settling: Settling
  readonly burial: Burial
  readonly failing: Failing
}

/**
 * What becomes of runs that outlive their attempt, because the handler ignores its signal:
 *
 *   timed out ─▶ in its place, for `lateMs` ─┬─ succeeds ─▶ done
 *                                            ├─ fails ────▶ retry | dead, as the timeout decides
 *                                            └─ runs on ──▶ retry | dead, and its place is free
 *                                                 ├─ succeeds ─▶ the retry is done without a run, a letter is resolved
 *                                                 └─ fails ────▶ the next attempt may start
 *
 * While a run goes on, its claim is renewed and no other attempt of the event starts in this process.
 */
export class LateRuns {
  readonly #policy: ConsumerPolicy
  readonly #host: Host
  readonly #parts: LateParts
  /** Runs that have lost their place: until they have ended and that is written down, and the second half of it. */
  readonly #left = new Set<Promise<void>>()
  readonly #endings = new Set<Promise<void>>()
  #count = 0

  constructor(policy: ConsumerPolicy, host: Host, parts: LateParts) {
    this.#policy = policy
    this.#host = host
    this.#parts = parts
  }

  /** Runs past their deadline that have not ended. */
  get count(): number {
    return this.#count
  }

  /** Resolves when all runs that have lost their place have ended, and that is written down. */
  async ended(): Promise<void> {
    await Promise.all(this.#left)
  }

  /** What is being written down of runs that have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#endings)
  }

  async outlived(work: Work, attempt: Attempt<HandlerContext>, told: Told): Promise<Next> {
    const { clock, lateMs } = this.#policy
    const { runs, claims, settling, failing, burial } = this.#parts
    const { id } = work.event
    this.#count++
    claims?.keep(work)
    const how = await lateEnd(attempt, clock, lateMs, this.#host.closing)
    if (how === 'running') return this.#leave(work, attempt, told)
    if (how === 'closing') {
      this.#abandon(work, attempt)
      work.record(failing.recordOf(told, 0))
      return settling.retry(work, clock.now(), told.startedAt)
    }
    this.#count--
    if (how === 'failed') {
      await claims?.release(work)
      runs.end(id)
      return failing.next(work, told)
    }
    this.#tell(work, told, 'succeeded')
    await claims?.complete(work)
    runs.end(id)
    return burial.handled(work, told.startedAt)
  }

  /** The consumer closes. The claim of a handler that ends now is released; any other is left to its lease. */
  async aborted(work: Work, attempt: Attempt<HandlerContext>): Promise<void> {
    const { runs, claims } = this.#parts
    if (attempt.isRunning && claims !== undefined)
      await lateEnd(attempt, this.#policy.clock, ABORT_REST_MS, NEVER)
    if (attempt.isRunning) {
      this.#count++
      this.#abandon(work, attempt)
      return
    }
    await claims?.release(work)
    runs.end(work.event.id)
  }

  /** The run belongs to nobody any more: with this consumer ends what it knows of its runs. */
  #abandon(work: Work, attempt: Attempt<HandlerContext>): void {
    this.#parts.claims?.abandon(work)
    this.#parts.runs.end(work.event.id)
    attempt.whenOver = () => {
      this.#count--
    }
  }

  /** It has had its time twice over. Its event goes on without it, as far as that can be. */
  #leave(work: Work, attempt: Attempt<HandlerContext>, told: Told): Next | Promise<Next> {
    const { runs, failing } = this.#parts
    const run = new LateRun(work, told)
    runs.start(work.event.id, run)
    this.#tell(work, told, 'running')
    const left = new Promise<void>(resolve => {
      attempt.whenOver = end => {
        const ending = this.#ended(run, end).finally(() => this.#endings.delete(ending))
        this.#endings.add(ending)
        resolve(ending)
      }
    }).finally(() => this.#left.delete(left))
    this.#left.add(left)
    return failing.next(work, told, run)
  }

  async #ended(run: LateRun, { ok }: AttemptEnd): Promise<void> {
    const { runs, claims, burial } = this.#parts
    const { work, told } = run
    const { id } = work.event
    this.#count--
    // A consumer that has closed uses neither its ledger nor its store: the claim is left to its lease, the letter to a person.
    if (this.#host.closing.aborted) {
      runs.end(id)
      return
    }
    if (!ok) {
      await claims?.release(work)
      this.#tell(work, told, 'failed')
      runs.end(id)
      return
    }
    run.hasSucceeded = true
    await claims?.complete(work)
    this.#tell(work, told, 'succeeded')
    if (run.letterId !== undefined) await burial.resolveLate(run)
    else runs.remember(id, run)
    runs.end(id)
  }

  #tell(work: Work, { startedAt, attempt }: Told, state: 'running' | 'succeeded' | 'failed'): void {
    const { channel, name, clock, observer } = this.#policy
    if (!observer.lateRun) return
    const durationMs = Math.max(0, clock.now() - startedAt)
    observe(observer, 'lateRun', { channel, name, eventId: work.event.id, attempt, state, durationMs })
  }
}
