import { LetterError } from '../../core/dead-letter/errors.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import { yieldToEventLoop } from '../../ports/clock.ts'
import type { LetterCodec } from '../../ports/codec.ts'
import { isLetterFault } from '../../ports/dead-letters.ts'

/** Letters read in one turn of the event loop: a large page must not hold up everything else. */
const READ_PER_TURN = 50

/** Reads a stored letter. Every error of the codec becomes a fault of the letter (`isLetterFault`). */
export function readLetter(codec: LetterCodec, text: string): DeadLetter {
  try {
    return codec.decode(text)
  } catch (error) {
    if (isLetterFault(error)) throw error
    const fault = {
      path: 'text',
      received: 'text that the codec cannot read',
      remedy: 'give the codec that wrote it, or restore the text',
    }
    throw new LetterError('stored dead letter', [fault], error)
  }
}

/**
 * The letter of a row; undefined if the row is not a letter, because another program changed it. A missing key is a fault of the reader
 * and not of the row, so its error is passed on.
 */
export function readableLetter(read: () => DeadLetter): DeadLetter | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof LazaretError && error.code === 'LAZARET_SEAL_UNOPENED') throw error
    return undefined
  }
}

/** A page to read. */
interface WantedPage<R> {
  readonly limit: number
  /** Reads the rows of the list, at most so many. */
  readonly rows: (count: number) => Promise<readonly R[]>
  readonly read: (row: R) => DeadLetter
}

/**
 * Reads a page of letters. A row that is not a letter is left out, so that it hides no other. Counts include it, and `get` rejects with
 * what is wrong with it. A page has at least one letter unless no later row has one, so that its cursor leads on.
 */
export async function readLetterPage<R>({ limit, rows, read }: WantedPage<R>): Promise<{
  readonly letters: readonly DeadLetter[]
  readonly hasMore: boolean
}> {
  for (let count = limit; ; count *= 2) {
    const found = await rows(count + 1)
    const letters: DeadLetter[] = []
    for (const [at, row] of found.slice(0, count).entries()) {
      if (at % READ_PER_TURN === READ_PER_TURN - 1) await yieldToEventLoop()
      const letter = readableLetter(() => read(row))
      if (letter !== undefined) letters.push(letter)
    }
    if (letters.length > 0 || found.length <= count)
      return { letters: letters.slice(0, limit), hasMore: found.length > count || letters.length > limit }
  }
}
