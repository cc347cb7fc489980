import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import { text, withDefault } from '../../core/options/rules.ts'
import type { DeadLetterQueue, Spill } from '../../ports/dead-letters.ts'
import { type Files, realFiles } from './journal/files.ts'
import type { Place } from './journal/segment-set.ts'
import type { LetterLog } from './letters/letter-log.ts'
import { LogDoor } from './letters/log-door.ts'
import { matching } from './letters/selection.ts'
import { type JournalOptions, journalRules } from './options.ts'

export interface FileSpillOptions extends JournalOptions {
  /** Names the spill in errors ['spill']. */
  readonly name?: string | undefined
}

const rules = { ...journalRules, name: withDefault(text(), 'spill') }

/** Letters read before they are sent on, one after the other. */
const READ_AT_ONCE = 64

/** Takes letters into a folder while their store is down. Give it a folder of its own. */
export function fileSpill(options: FileSpillOptions): FileSpill {
  return new FileSpill(resolveOptions('fileSpill', rules, options))
}

export class FileSpill implements Spill {
  readonly #door: LogDoor
  #lastDrain: Promise<unknown> = Promise.resolve()

  constructor(options: Resolved<typeof rules>, files: Files = realFiles) {
    this.#door = new LogDoor(options.name, options, files)
  }

  send(letter: DeadLetter): Promise<void> {
    return this.#door.write(log => log.send(letter))
  }

  /** One drain at a time: two at once would send every letter twice. */
  drain(target: DeadLetterQueue): Promise<number> {
    const drained = this.#lastDrain.then(() => this.#drain(target))
    this.#lastDrain = drained.catch(() => {})
    return drained
  }

  async size(): Promise<number> {
    const { log } = await this.#door.read()
    return log.index.count
  }

  async close(): Promise<void> {
    await this.#lastDrain
    await this.#door.close()
  }

  async #drain(target: DeadLetterQueue): Promise<number> {
    const { log } = await this.#door.read()
    // Those that arrive meanwhile are for the next drain, or a busy service would never end this one.
    const all = await inOrderOfArrival(log)
    const removals: Promise<unknown>[] = []
    let sent = 0
    for (let start = 0; start < all.length; start += READ_AT_ONCE) {
      const held = all.slice(start, start + READ_AT_ONCE)
      const letters = await log.read(held.map(({ id }) => id))
      for (const [index, letter] of letters.entries()) {
        if (letter === undefined) continue
        const isTaken = await target.send(letter).then(
          () => true,
          () => false,
        )
        if (!isTaken) {
          await Promise.all(removals)
          return sent
        }
        sent++
        removals.push(remove(log, held[index]!))
      }
    }
    await Promise.all(removals)
    return sent
  }
}

interface Held extends Place {
  readonly id: string
}

async function inOrderOfArrival({ index }: LetterLog): Promise<Held[]> {
  const held: Held[] = []
  for await (const { rows, found } of matching(index, {}))
    for (const row of found) held.push({ id: rows.idOf(row), ...rows.placeOf(row) })
  return held
}

/**
 * If the same letter was told again in the meantime, it lies elsewhere, and the target has not seen that yet. One that
 * cannot be removed is sent again by the next drain, which changes nothing for the target.
 */
function remove(log: LetterLog, { id, segment, offset }: Held): Promise<number> {
  return log.delete([id], (_, now) => now.segment === segment && now.offset === offset).catch(() => 0)
}
