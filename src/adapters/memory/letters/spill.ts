import { SerialQueue } from '../../../adapter-kit/serial-queue.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import { type DeadLetterQueue, DeadLettersClosedError, type Spill } from '../../../ports/dead-letters.ts'

/** A spill without a file, for tests: it survives a store that is down, but not the process. */
export function memorySpill(): MemorySpill {
  return new MemorySpill()
}

/** A spill in the memory of this process, for tests. */
export class MemorySpill implements Spill {
  /** In the order of arrival, which is what a map keeps; a letter that is told again stays in its place. */
  readonly #letters = new Map<string, DeadLetter>()
  readonly #drains = new SerialQueue()
  #isClosed = false

  async send(letter: DeadLetter): Promise<void> {
    this.#requireOpen()
    this.#letters.set(letter.id, mergeLetter(this.#letters.get(letter.id), letter))
  }

  /** One drain at a time: two at once would send every letter twice. */
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
    let sent = 0
    // Those that arrive meanwhile are for the next drain, or a busy service would never end this one.
    for (const [id, letter] of [...this.#letters]) {
      try {
        await target.send(letter)
      } catch {
        return sent
      }
      sent++
      // If the same letter was told again in the meantime, the target has not seen that yet.
      if (this.#letters.get(id) === letter) this.#letters.delete(id)
    }
    return sent
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new DeadLettersClosedError('memory spill')
  }
}
