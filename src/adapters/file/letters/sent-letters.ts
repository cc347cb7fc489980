import { createHash } from 'node:crypto'
import { encodeLetter } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { isSameLine, type LineLocation } from '../journal/segment-rows.ts'

interface SentLetter {
  readonly line: LineLocation
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

  add(line: LineLocation, letter: DeadLetter): void {
    this.#sent.set(letter.id, { line, digest: digestOf(letter) })
  }

  /** Whether the line of the letter is the one that was sent. A later version of the letter has another line. */
  hasLine(id: string, line: LineLocation | undefined): boolean {
    const sent = this.#sent.get(id)
    return sent !== undefined && isSameLine(sent.line, line)
  }

  /** Whether this version was sent. A rewrite of the file changes the line of a letter, but not the letter. */
  hasVersion(line: LineLocation, letter: DeadLetter): boolean {
    if (this.#sent.get(letter.id)?.digest !== digestOf(letter)) return false
    this.add(line, letter)
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
