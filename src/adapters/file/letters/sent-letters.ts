import { createHash } from 'node:crypto'
import { encodeLetter } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { RecordLocation } from '../journal/segment-set.ts'

type Place = Pick<RecordLocation, 'segment' | 'offset'>

interface SentLetter extends Place {
  readonly digest: string
}

/**
 * The letters that the store has and that could not be removed from the spill, such as on a full disk. They are not sent again:
 * a letter that a person has purged since then would come back.
 */
export class SentLetters {
  readonly #sent = new Map<string, SentLetter>()

  get size(): number {
    return this.#sent.size
  }

  get ids(): readonly string[] {
    return [...this.#sent.keys()]
  }

  add({ segment, offset }: Place, letter: DeadLetter): void {
    this.#sent.set(letter.id, { segment, offset, digest: digestOf(letter) })
  }

  /** Whether the line of the letter is the one that was sent. A later version of the letter has another line. */
  hasLine(id: string, place: Place | undefined): boolean {
    const sent = this.#sent.get(id)
    return sent !== undefined && sent.segment === place?.segment && sent.offset === place.offset
  }

  /** Whether this version was sent. A rewrite of the file changes the line of a letter, but not the letter. */
  hasVersion(place: Place, letter: DeadLetter): boolean {
    if (this.#sent.get(letter.id)?.digest !== digestOf(letter)) return false
    this.add(place, letter)
    return true
  }

  /** Forgets the letters that the spill no longer holds. */
  keepOnly(isHeld: (id: string) => boolean): void {
    for (const id of this.#sent.keys()) if (!isHeld(id)) this.#sent.delete(id)
  }
}

function digestOf(letter: DeadLetter): string {
  return createHash('sha256').update(encodeLetter(letter)).digest('base64')
}
