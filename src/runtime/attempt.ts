import type { AttemptContext } from './attempt-context.ts'
import type { Deadline, DeadlineLane } from './deadlines.ts'
import { TimeoutError } from './timeout-error.ts'

/** How an attempt ended. What it returned is of no interest; what it threw may be anything, undefined too. */
export type AttemptEnd = { readonly ok: true } | { readonly ok: false; readonly thrown: unknown }

const WORKED: AttemptEnd = Object.freeze({ ok: true })

/**
 * One run of a handler against its deadline. It always ends: when the time is over or somebody calls `abort`, the
 * context's signal aborts and what the handler does later is heard and forgotten, so it is never an unhandled rejection.
 */
export class Attempt<C extends AttemptContext = AttemptContext> implements Deadline {
  dueAt = 0
  previous: Deadline | undefined = undefined
  next: Deadline | undefined = undefined
  readonly context: C
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
    try {
      const result = work(this.context)
      if (isPromiseLike(result)) {
        result.then(
          () => this.end(WORKED),
          thrown => this.end({ ok: false, thrown }),
        )
      } else this.end(WORKED)
    } catch (thrown) {
      this.end({ ok: false, thrown })
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
