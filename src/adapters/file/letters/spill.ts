import { RefusedLetters } from '../../../adapter-kit/refused-letters.ts'
import { SerialQueue } from '../../../adapter-kit/serial-queue.ts'
import { encodeLetter } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { text, withDefault } from '../../../core/options/rules.ts'
import type { DeadLetterQueue, Spill } from '../../../ports/dead-letters.ts'
import { type Files, realFiles } from '../journal/files.ts'
import type { RecordLocation } from '../journal/segment-set.ts'
import { type JournalOptions, journalRules } from '../options.ts'
import { LazyLetterLog } from './lazy-letter-log.ts'
import type { LetterLog } from './letter-log.ts'
import { matching } from './selection.ts'

/** Options of `fileSpill()`. */
export interface FileSpillOptions extends JournalOptions {
  /** Names the spill in errors ['spill']. */
  readonly name?: string | undefined
}

const rules = { ...journalRules, name: withDefault(text(), 'spill') }

/** The letters that are read together before they are sent one by one. */
const READ_AT_ONCE = 64

/** Creates a spill that stores letters while their store is unreachable. It needs its own folder. */
export function fileSpill(options: FileSpillOptions): FileSpill {
  return new FileSpill(resolveOptions('fileSpill', rules, options))
}

/** The spill that `fileSpill()` makes. */
export class FileSpill implements Spill {
  readonly #log: LazyLetterLog
  readonly #drains = new SerialQueue()
  readonly #refused = new RefusedLetters()

  constructor(options: Resolved<typeof rules>, files: Files = realFiles) {
    this.#log = new LazyLetterLog(options.name, options, files)
  }

  send(letter: DeadLetter): Promise<void> {
    return this.#log.write(log => log.send(letter))
  }

  /** Only one drain runs at a time, because two would send every letter twice. */
  drain(target: DeadLetterQueue, failed: (error: unknown) => void = () => {}): Promise<number> {
    return this.#drains.run(() => this.#drain(target, failed))
  }

  async size(): Promise<number> {
    const { log } = await this.#log.read()
    return log.index.count
  }

  async close(): Promise<void> {
    await this.#drains.settled()
    await this.#log.close()
  }

  async #drain(target: DeadLetterQueue, failed: (error: unknown) => void): Promise<number> {
    const { log } = await this.#log.read()
    // Letters that arrive during the drain wait for the next one. Otherwise the drain of a busy service would never end.
    const all = this.#refused.inDrainOrder(await inOrderOfArrival(log))
    const removals: Promise<unknown>[] = []
    let sent = 0
    for await (const { held, letter, error } of readEach(log, all)) {
      if (letter === undefined) failed(error)
      if (letter === undefined || !(await isTaken(target, letter))) {
        if (this.#refused.refused(held.id)) break
        continue
      }
      this.#refused.taken(held.id)
      sent++
      // The next drain sends a letter again that could not be removed. That changes nothing for the target.
      removals.push(remove(log, letter, held).catch(() => {}))
    }
    await Promise.all(removals)
    return sent
  }
}

async function isTaken(target: DeadLetterQueue, letter: DeadLetter): Promise<boolean> {
  return target.send(letter).then(
    () => true,
    () => false,
  )
}

interface Held extends RecordLocation {
  readonly id: string
}

async function inOrderOfArrival({ index }: LetterLog): Promise<string[]> {
  const ids: string[] = []
  for await (const { rows, found } of matching(index, {})) for (const row of found) ids.push(rows.idOf(row))
  return ids
}

/** A letter of the spill. `letter` is undefined if reading it failed with `error`. */
interface ReadLetter {
  readonly held: Held
  readonly letter?: DeadLetter | undefined
  readonly error?: unknown
}

/** Reads letters in portions. Letters that are gone, or damaged and reported as such, are left out. */
async function* readEach(log: LetterLog, ids: readonly string[]): AsyncGenerator<ReadLetter> {
  for (let start = 0; start < ids.length; start += READ_AT_ONCE) {
    const all = heldIn(log, ids.slice(start, start + READ_AT_ONCE))
    // One unreadable letter, such as one that is sealed with a missing key, fails its whole portion.
    const letters = await log.read(all.map(({ id }) => id)).catch(() => undefined)
    for (const [index, held] of all.entries()) {
      const read = letters === undefined ? await readOne(log, held) : { held, letter: letters[index] }
      if (read.letter !== undefined || read.error !== undefined) yield read
    }
  }
}

async function readOne(log: LetterLog, held: Held): Promise<ReadLetter> {
  try {
    const [letter] = await log.read([held.id])
    return { held, letter }
  } catch (error) {
    return { held, error }
  }
}

/** The current locations of the letters. Their files may have been rewritten. */
function heldIn({ index }: LetterLog, ids: readonly string[]): Held[] {
  return ids.flatMap(id => {
    const location = index.locationOf(id)
    return location === undefined ? [] : { id, ...location }
  })
}

/**
 * Removes a letter that was sent. If the letter was written again meanwhile, it has another location, and the target does
 * not have the new version yet. A rewrite of the file also changes the location, but not the letter.
 */
async function remove(log: LetterLog, sent: DeadLetter, { id, segment, offset }: Held): Promise<void> {
  const isSame = (_: unknown, now: RecordLocation) => now.segment === segment && now.offset === offset
  if ((await log.delete([id], isSame)).length > 0) return
  const [held] = heldIn(log, [id])
  const [now] = await log.read([id])
  if (held !== undefined && now !== undefined && encodeLetter(now) === encodeLetter(sent))
    await remove(log, sent, held)
}
