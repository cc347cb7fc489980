import { LazaretError } from '../../core/failure/errors.ts'
import { isPromiseLike, promiseOf } from '../../core/promise-like.ts'
import type { Cancel, Clock } from '../../ports/clock.ts'
import type { Deadline, DeadlineLane } from './deadlines.ts'

/** The attempt timed out. Its work may still be running, if it ignores the signal. */
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
 * The context of an attempt for a protected function. The signal aborts when the attempt times out or its caller aborts. It
 * is created on first use, because most functions never read it.
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

/** The end of an attempt. The returned value is ignored; the thrown value may be anything, even undefined. */
export type AttemptEnd = { readonly ok: true } | { readonly ok: false; readonly thrown: unknown }

type LateEnd = 'succeeded' | 'failed' | 'running' | 'closing'

const SUCCEEDED: AttemptEnd = Object.freeze({ ok: true })

/**
 * One run of a handler with a deadline. The attempt always ends: on a timeout or `abort` the signal of the context aborts.
 * The work may continue, because nothing can stop a function that ignores its signal. Then `isRunning` is true, and
 * `whenOver` receives the real end, `late`. A late rejection never becomes an unhandled rejection.
 */
export class Attempt<C extends AttemptContext = AttemptContext> implements Deadline {
  dueAt = 0
  previous: Deadline | undefined = undefined
  next: Deadline | undefined = undefined
  readonly context: C
  /** The work has not ended yet, even if the attempt has. */
  isRunning = false
  /** The real end of work that outlived its attempt. */
  late: AttemptEnd | undefined = undefined
  /** Receives the late end. */
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

  run(work: (context: C) => unknown, now: number): Promise<AttemptEnd> {
    return this.call(runWork<C>, work, now)
  }

  /**
   * Calls a function with its input. Callers on a hot path need no closure for that. The call is outside of the promise
   * executor, so that stack traces have two frames less.
   */
  call<I>(fn: (input: I, context: C) => unknown, input: I, now: number): Promise<AttemptEnd> {
    const ended = new Promise<AttemptEnd>(resolve => {
      this.finish = resolve
    })
    this.lane?.start(this, now)
    this.isRunning = true
    try {
      const result = fn(input, this.context)
      if (isPromiseLike(result)) {
        promiseOf(result).then(
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

  /** Aborts the attempt when the signal does. The returned function ends that. */
  abortWith(signal: AbortSignal): Cancel {
    const onAbort = () => this.abort(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    return () => signal.removeEventListener('abort', onAbort)
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

function runWork<C>(work: (context: C) => unknown, context: C): unknown {
  return work(context)
}
