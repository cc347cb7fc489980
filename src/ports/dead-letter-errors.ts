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

const DISK_FULL = 'no space is left on the disk; make room there'

/** No room for one more letter. The caller still has the event, and no letter was dropped. */
export class DeadLettersFullError extends LazaretError {
  override readonly name = 'DeadLettersFullError'
  /** How many letters fit; undefined where it is the disk, or the memory of a server, that is full. */
  readonly capacity: number | undefined

  /** `remedy` is for a store whose room is not a disk's. */
  constructor(name: string, capacity: number | undefined, cause?: unknown, remedy: string = DISK_FULL) {
    const problem =
      capacity === undefined
        ? `${remedy}${reasonOf(cause)}`
        : `full with ${capacity}; replay or delete letters, or raise the capacity`
    // Room can be made at any moment, and until then the event is kept where it is.
    super(`dead letters '${name}': ${problem}`, {
      code: 'LAZARET_DEAD_LETTERS_FULL',
      retryable: true,
      ...(cause === undefined ? {} : { cause }),
    })
    this.capacity = capacity
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? ` (${cause.message})` : ''
}
