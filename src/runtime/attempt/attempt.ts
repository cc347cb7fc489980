import { LazaretError } from '../../core/failure/errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Deadline, DeadlineLane } from './deadlines.ts'

/** An attempt was given up on because its time was over. The work itself may still be running: see its signal. */
export class TimeoutError extends LazaretError {
  override readonly name = 'TimeoutError'
  readonly timeoutMs: number

  constructor(subject: string, timeoutMs: number) {
    super(
      `${subject}: timed out after ${timeoutMs} ms; raise timeoutMs if the work needs longer, and pass the attempt's signal to it so that it stops`,
      { code: 'LAZARET_TIMEOUT', retryable: true },
    )
    this.timeoutMs = timeoutMs
  }
}

/**
 * What a protected function can know of the attempt it is. The signal aborts when the attempt's time is over or its
 * caller gave up; it is only made when somebody looks at it, because most attempts end before anyone does.
 */
export class AttemptContext {
  /** 1 for the first attempt. */
  readonly attempt: number
  #controller: AbortController | undefined
  #aborted: { readonly reason: unknown } | undefined

  constructor(attempt: number) {
    this.attempt = attempt
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason)
    }
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#aborted ??= { reason }
    this.#controller?.abort(reason)
  }
}

/** How an attempt ended. What it returned is of no interest; what it threw may be anything, undefined too. */
export type AttemptEnd = { readonly ok: true } | { readonly ok: false; readonly thrown: unknown }

type LateEnd = 'succeeded' | 'failed' | 'running' | 'closing'

const SUCCEEDED: AttemptEnd = Object.freeze({ ok: true })

/**
 * One run of a handler against its deadline. The attempt always ends: when the time is over or somebody calls `abort`, the
 * context's signal aborts. The work itself may run on, because nothing can stop a function that ignores its signal:
 * `isRunning` tells so, and `whenOver` is called with its real end, `late`. A late rejection is never an unhandled one.
 */
export class Attempt<C extends AttemptContext = AttemptContext> implements Deadline {
  dueAt = 0
  previous: Deadline | undefined = undefined
  next: Deadline | undefined = undefined
  readonly context: C
  /** The work has been called and has not returned yet, also when the attempt has ended without it. */
  isRunning = false
  /** The real end of work that outlived its attempt. */
  late: AttemptEnd | undefined = undefined
  /** Called when that is known. */
  whenOver: ((end: AttemptEnd) => void) | undefined = undefined
  private readonly name: string
  private readonly timeoutMs: number
  private readonly lane: DeadlineLane | undefined
  private finish: ((end: AttemptEnd) => void) | undefined = undefined

  constructor(context: C, name: string, timeoutMs: number | undefined, lane: DeadlineLane | undefined) {
    this.context = context
    this.name = name
    this.timeoutMs = timeoutMs ?? 0
    this.lane = lane
  }

  /** The work is called from here and not from inside the promise: its errors name two frames less. */
  run(work: (context: C) => unknown, now: number): Promise<AttemptEnd> {
    const ended = new Promise<AttemptEnd>(resolve => {
      this.finish = resolve
    })
    this.lane?.start(this, now)
    this.isRunning = true
    try {
      const result = work(this.context)
      if (isPromiseLike(result)) {
        result.then(
          () => this.returned(SUCCEEDED),
          thrown => this.returned({ ok: false, thrown }),
        )
      } else this.returned(SUCCEEDED)
    } catch (thrown) {
      this.returned({ ok: false, thrown })
    }
    return ended
  }

  expire(): void {
    this.abort(new TimeoutError(this.name, this.timeoutMs))
  }

  abort(reason: unknown): void {
    this.end({ ok: false, thrown: reason })
    this.context.abort(reason)
  }

  /**
   * Waits for the end of a run that outlived its attempt, up to a limit, and not after the end of the waiting caller.
   */
  lateEnd(clock: Clock, lateMs: number, closing: AbortSignal): Promise<LateEnd> {
    return new Promise(resolve => {
      const end = (how: LateEnd) => {
        cancel()
        closing.removeEventListener('abort', onClosing)
        this.whenOver = undefined
        resolve(how)
      }
      const onClosing = () => end('closing')
      const cancel = clock.schedule(lateMs, () => end('running'))
      this.whenOver = ({ ok }) => end(ok ? 'succeeded' : 'failed')
      if (this.late !== undefined) this.whenOver(this.late)
      else if (closing.aborted) onClosing()
      else closing.addEventListener('abort', onClosing)
    })
  }

  private returned(end: AttemptEnd): void {
    this.isRunning = false
    if (this.finish !== undefined) {
      this.end(end)
      return
    }
    this.late = end
    this.whenOver?.(end)
  }

  private end(end: AttemptEnd): void {
    const { finish } = this
    if (finish === undefined) return
    this.finish = undefined
    this.lane?.end(this)
    finish(end)
  }
}

export function isPromiseLike<R>(value: R | PromiseLike<R>): value is PromiseLike<R> {
  return typeof (value as PromiseLike<R> | undefined)?.then === 'function'
}
