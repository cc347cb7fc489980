import { RefusedLetters } from '../../../adapter-kit/refused-letters.ts'
import { SerialQueue } from '../../../adapter-kit/serial-queue.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import { type DeadLetterQueue, DeadLettersClosedError, type Spill } from '../../../ports/dead-letters.ts'

/** Creates a spill without a file, for tests. Its letters survive an unreachable store, but not the process. */
export function memorySpill(): MemorySpill {
  return new MemorySpill()
}

/** A spill in the memory of this process, for tests. */
export class MemorySpill implements Spill {
  /** A map keeps the order of arrival. A letter that is sent again keeps its position. */
  readonly #letters = new Map<string, DeadLetter>()
  readonly #drains = new SerialQueue()
  readonly #refused = new RefusedLetters()
  #isClosed = false

  async send(letter: DeadLetter): Promise<void> {
    this.#requireOpen()
    this.#letters.set(letter.id, mergeLetter(this.#letters.get(letter.id), letter))
  }

  /** Only one drain runs at a time, because two would send every letter twice. */
  drain(target: DeadLetterQueue): Promise<number> {
    return this.#drains.run(() => this.#drain(target))
  }

  async size(): Promise<number> {
    return this.#letters.size
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#drains.settled()
  }

  async #drain(target: DeadLetterQueue): Promise<number> {
    this.#requireOpen()
    let removed = 0
    // Letters that arrive during the drain wait for the next one. Otherwise the drain of a busy service would never end.
    for (const id of this.#refused.inDrainOrder([...this.#letters.keys()])) {
      const letter = this.#letters.get(id)!
      try {
        await target.send(letter)
      } catch {
        if (this.#refused.refused(id)) break
        continue
      }
      this.#refused.taken(id)
      // If the letter changed during the send, the target does not have the new version yet.
      if (this.#letters.get(id) === letter && this.#letters.delete(id)) removed++
    }
    return removed
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new DeadLettersClosedError('memory spill')
  }
}
