import type { AttemptContext } from './attempt-context.ts'
import type { Deadline, DeadlineLane } from './deadlines.ts'
import { TimeoutError } from './timeout-error.ts'

/** How an attempt ended. What it returned is of no interest; what it threw may be anything, undefined too. */
export type AttemptEnd = { readonly ok: true } | { readonly ok: false; readonly thrown: unknown }

const WORKED: AttemptEnd = Object.freeze({ ok: true })

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
          () => this.returned(WORKED),
          thrown => this.returned({ ok: false, thrown }),
        )
      } else this.returned(WORKED)
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

export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === 'function'
}
