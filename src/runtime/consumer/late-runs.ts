import type { Attempt, AttemptEnd } from '../attempt/attempt.ts'
import { lateEnd } from '../attempt/late-end.ts'
import { observe } from '../observe.ts'
import type { Burial } from './burial.ts'
import type { Claims } from './claims.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { Failing } from './failing.ts'
import type { HandlerContext } from './handler-context.ts'
import { LateRun } from './late-run.ts'
import type { Runs } from './runs.ts'
import type { Host, Next, Settling } from './settling.ts'
import type { Told } from './told.ts'
import type { Work } from './work.ts'

/** An attempt that ended because the consumer closes, and why. */
export interface InterruptedRun {
  readonly attempt: Attempt<HandlerContext>
  readonly told: Told
}

/** A handler that is aborted because the consumer closes may take so long to end before its claim is left to its lease. */
const ABORT_REST_MS = 100
const NEVER = new AbortController().signal

interface LateParts {
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
 * While a run goes on, its claim is renewed and no other attempt of the event starts in this process. When the consumer closes,
 * the run goes on without it: renewals end, and the rest stays true for the other consumers of this process. What the run comes to
 * is written down as far as others keep the ledger and the store open.
 */
export class LateRuns {
  readonly #policy: ConsumerPolicy
  readonly #host: Host
  readonly #parts: LateParts
  /** Runs that have lost their place: until they have ended and that is written down, and the second half of it. */
  readonly #left = new Set<Promise<void>>()
  readonly #endings = new Set<Promise<void>>()
  /** Runs that go on although the consumer closes. */
  readonly #interrupted = new Set<LateRun>()
  #count = 0
  #isClosed = false

  constructor(policy: ConsumerPolicy, host: Host, parts: LateParts) {
    this.#policy = policy
    this.#host = host
    this.#parts = parts
  }

  /** Runs past their deadline that have not ended, those that closed consumers of the handler have left included. */
  get count(): number {
    return this.#count + this.#parts.runs.orphans
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
    this.#add()
    claims?.keep(work)
    const how = await lateEnd(attempt, clock, lateMs, this.#host.closing)
    if (how === 'running') return this.#leave(work, attempt, told)
    if (how === 'closing') {
      this.#interrupt(work, { attempt, told })
      work.record(failing.recordOf(told, 0))
      return settling.retry(work, clock.now(), told.startedAt)
    }
    this.#remove()
    if (how === 'failed') {
      await claims?.release(work)
      runs.end(id)
      return failing.next(work, told)
    }
    this.#tell(new LateRun(work, told), 'succeeded')
    await claims?.complete(work)
    runs.end(id)
    return burial.handled(work, told.startedAt)
  }

  /** The consumer closes. The claim of a handler that ends now is settled; any other is left to its lease. */
  async aborted(work: Work, { attempt, told }: InterruptedRun): Promise<void> {
    const { runs, claims } = this.#parts
    if (attempt.isRunning && claims !== undefined)
      await lateEnd(attempt, this.#policy.clock, ABORT_REST_MS, NEVER)
    if (attempt.isRunning) {
      this.#add()
      this.#interrupt(work, { attempt, told })
      return
    }
    if (attempt.late?.ok) await claims?.complete(work)
    else await claims?.release(work)
    runs.end(work.event.id)
  }

  /** The consumer is closed. Runs that go on are left to whoever consumes next, and are shown there. */
  close(): void {
    this.#isClosed = true
    this.#parts.runs.orphans += this.#count
    this.#count = 0
    for (const run of this.#interrupted) this.#tell(run, 'running')
    this.#interrupted.clear()
  }

  #interrupt(work: Work, { attempt, told }: InterruptedRun): void {
    const run = new LateRun(work, told)
    this.#parts.claims?.abandon(work)
    this.#interrupted.add(run)
    this.#follow(run, attempt)
    if (this.#isClosed) this.close()
  }

  /** It has had its time twice over. Its event goes on without it, as far as that can be. */
  #leave(work: Work, attempt: Attempt<HandlerContext>, told: Told): Next | Promise<Next> {
    const { failing } = this.#parts
    const run = new LateRun(work, told)
    this.#tell(run, 'running')
    this.#follow(run, attempt)
    return failing.next(work, told, run)
  }

  #follow(run: LateRun, attempt: Attempt<HandlerContext>): void {
    this.#parts.runs.start(run.work.event.id, run)
    const left = new Promise<void>(resolve => {
      attempt.whenOver = end => {
        const ending = this.#ended(run, end).finally(() => this.#endings.delete(ending))
        this.#endings.add(ending)
        resolve(ending)
      }
    }).finally(() => this.#left.delete(left))
    this.#left.add(left)
    // It ended while nobody listened.
    if (attempt.late !== undefined) attempt.whenOver?.(attempt.late)
  }

  async #ended(run: LateRun, { ok }: AttemptEnd): Promise<void> {
    const { runs, claims, burial } = this.#parts
    const { work } = run
    const { id } = work.event
    this.#remove()
    this.#interrupted.delete(run)
    if (!ok) {
      await claims?.release(work)
      this.#tellEnd(run, 'failed')
      runs.end(id)
      return
    }
    run.hasSucceeded = true
    await claims?.complete(work)
    this.#tellEnd(run, 'succeeded')
    if (run.letterId !== undefined) await (run.burial ?? burial).resolveLate(run)
    else runs.remember(id, run)
    runs.end(id)
  }

  #add(): void {
    if (this.#isClosed) this.#parts.runs.orphans++
    else this.#count++
  }

  #remove(): void {
    if (this.#isClosed) this.#parts.runs.orphans--
    else this.#count--
  }

  /** Of a handler that ends as soon as its consumer closes, nobody needs to hear. */
  #tellEnd(run: LateRun, state: 'succeeded' | 'failed'): void {
    if (run.isTold) this.#tell(run, state)
  }

  #tell(run: LateRun, state: 'running' | 'succeeded' | 'failed'): void {
    const { channel, name, clock, observer } = this.#policy
    const { startedAt, attempt } = run.told
    run.isTold = true
    if (!observer.lateRun) return
    const durationMs = Math.max(0, clock.now() - startedAt)
    observe(observer, 'lateRun', { channel, name, eventId: run.work.event.id, attempt, state, durationMs })
  }
}
