import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { type DeadLetterQueue, DeadLettersClosedError } from '../ports/dead-letters.ts'

/** A dead-letter queue that accepts every letter and stores none, for tests of other parts. */
export function noopDeadLetters(): DeadLetterQueue {
  return { send: async () => {}, close: async () => {} }
}

/** A dead-letter queue for tests that keeps every letter it gets. */
export interface RecordingDeadLetters extends DeadLetterQueue {
  /** Every sent letter, oldest first. A letter that is sent twice is here twice. */
  readonly all: readonly DeadLetter[]
  readonly count: number
  readonly last: DeadLetter | undefined
  readonly isClosed: boolean
  clear(): void
}

/** A queue that records every letter. After `close` it rejects letters, as a real one does. */
export function recordingDeadLetters(): RecordingDeadLetters {
  let all: DeadLetter[] = []
  let isClosed = false
  return {
    get all() {
      return [...all]
    },
    get count() {
      return all.length
    },
    get last() {
      return all.at(-1)
    },
    get isClosed() {
      return isClosed
    },
    clear() {
      all = []
    },
    async send(letter) {
      if (isClosed) throw new DeadLettersClosedError('recording')
      all.push(letter)
    },
    async close() {
      isClosed = true
    },
  }
}
