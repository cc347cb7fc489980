import { LazaretError } from '../core/failure/errors.ts'

/** Sent to, or asked, after `close`. The caller still has the event. */
export class DeadLettersClosedError extends LazaretError {
  override readonly name = 'DeadLettersClosedError'

  constructor(name: string) {
    super(`dead letters '${name}': closed; use them before close(), or open them anew`, {
      code: 'LAZARET_DEAD_LETTERS_CLOSED',
      retryable: false,
    })
  }
}

/** No room for one more letter. The caller still has the event, and no letter was dropped. */
export class DeadLettersFullError extends LazaretError {
  override readonly name = 'DeadLettersFullError'
  readonly capacity: number

  constructor(name: string, capacity: number) {
    super(
      `dead letters '${name}': full with ${capacity}; replay or delete letters, or raise the capacity`,
      // Room can be made at any moment, and until then the event is kept where it is.
      { code: 'LAZARET_DEAD_LETTERS_FULL', retryable: true },
    )
    this.capacity = capacity
  }
}
