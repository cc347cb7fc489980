import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { type DeadLetterQueue, DeadLettersClosedError } from '../ports/dead-letters.ts'

/** Takes every letter and keeps none: for tests that are about something else. */
export function noopDeadLetters(): DeadLetterQueue {
  return { send: async () => {}, close: async () => {} }
}

/** A dead-letter queue for tests that keeps every letter it gets. */
export interface RecordingDeadLetters extends DeadLetterQueue {
  /** Every letter as it was sent, oldest first: one that is sent twice is here twice. */
  readonly all: readonly DeadLetter[]
  readonly count: number
  readonly last: DeadLetter | undefined
  readonly isClosed: boolean
  clear(): void
}

/** Remembers what was sent, for tests that look at letters. After `close` it refuses, as a real one does. */
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
