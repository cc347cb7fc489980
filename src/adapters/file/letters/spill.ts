import { portionsOf } from '../../../adapter-kit/portions.ts'
import { RefusedLetters } from '../../../adapter-kit/refused-letters.ts'
import { SerialQueue } from '../../../adapter-kit/serial-queue.ts'
import { encodeLetter } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { text, withDefault } from '../../../core/options/rules.ts'
import type { DeadLetterQueue, Spill } from '../../../ports/dead-letters.ts'
import type { Compaction } from '../journal/compaction.ts'
import { type Files, realFiles } from '../journal/files.ts'
import { IDS_PER_DELETE } from '../journal/line-index.ts'
import { isSameLine, type LineLocation } from '../journal/segment-rows.ts'
import { type FileUsage, usageOf } from '../journal/usage.ts'
import { type JournalOptions, journalRules } from '../options.ts'
import { LazyLetterLog } from './lazy-letter-log.ts'
import type { LetterLog } from './letter-log.ts'
import { matching } from './selection.ts'
import { SentLetters } from './sent-letters.ts'

/** Options of `fileSpill()`. */
export interface FileSpillOptions extends JournalOptions {
  /** Names the spill in errors ['spill']. */
  readonly name?: string | undefined
}

export const spillRules = { ...journalRules, name: withDefault(text(), 'spill') }

/** The letters that are read together before they are sent one by one. */
const READ_AT_ONCE = 64

/** Creates a spill that stores letters while their store is unreachable. It needs its own folder. */
export function fileSpill(options: FileSpillOptions): FileSpill {
  return new FileSpill(resolveOptions('fileSpill', spillRules, options))
}

/** The spill that `fileSpill()` makes. */
export class FileSpill implements Spill {
  readonly #log: LazyLetterLog
  readonly #drains = new SerialQueue()
  readonly #refused = new RefusedLetters()
  readonly #sent = new SentLetters()

  constructor(options: Resolved<typeof spillRules>, files: Files = realFiles) {
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

  /** Checks every line, so that all damage is found. Sealed letters need no key for that. */
  async usage(): Promise<FileUsage> {
    const { log } = await this.#log.read()
    for (const ids of portionsOf(await inOrderOfArrival(log), READ_AT_ONCE))
      await log.read(ids, () => undefined)
    return usageOf(log.journal)
  }

  async close(): Promise<void> {
    await this.#drains.settled()
    await this.#log.close()
  }

  async #drain(target: DeadLetterQueue, failed: (error: unknown) => void): Promise<number> {
    const { log, compaction } = await this.#log.read()
    // Letters that arrive during the drain wait for the next one. Otherwise the drain of a busy service would never end.
    const all = (await inOrderOfArrival(log)).filter(id => !this.#isSent(log, id))
    const removals: Promise<boolean>[] = []
    for await (const { held, letter, error } of readEach(log, this.#refused.inDrainOrder(all))) {
      if (letter !== undefined && this.#sent.hasVersion(held, letter)) continue
      if (letter === undefined) failed(error)
      if (letter === undefined || !(await isTaken(target, letter))) {
        if (this.#refused.refused(held.id)) break
        continue
      }
      this.#refused.taken(held.id)
      removals.push(this.#remove(log, letter, held))
    }
    const removed = (await Promise.all(removals)).filter(isRemoved => isRemoved).length
    return this.#sent.size === 0 ? removed : removed + (await this.#removeSent(log, compaction, failed))
  }

  #isSent({ index }: LetterLog, id: string): boolean {
    return this.#sent.size > 0 && this.#sent.hasLine(id, index.locationOf(id))
  }

  /** Returns false if the letter could not be removed, or was written again meanwhile. */
  async #remove(log: LetterLog, letter: DeadLetter, held: Held): Promise<boolean> {
    // After a failed removal the others would fail too. All of them are tried together at the end of the drain.
    const mustWait = this.#sent.size > 0
    try {
      if (!mustWait) return await remove(log, letter, held)
    } catch {
      // The end of the drain tries again, and reports the error.
    }
    this.#sent.add(held, letter)
    return false
  }

  /**
   * Removes letters that were sent. A deletion is a line in a file and needs disk space. On a full disk only whole files can be
   * removed: those whose letters are all sent. The file that is written to is closed when a write to it fails, so the
   * second round can remove it too.
   */
  async #removeSent(
    log: LetterLog,
    compaction: Compaction,
    failed: (error: unknown) => void,
  ): Promise<number> {
    const isSent = (id: string, location: LineLocation) => this.#sent.hasLine(id, location)
    let removed = 0
    const errors: unknown[] = []
    for (let round = 1; round <= 2 && this.#sent.size > 0; round++) {
      try {
        for (const ids of portionsOf(this.#sent.ids, IDS_PER_DELETE))
          removed += (await log.delete(ids, (_, location, id) => isSent(id, location))).length
      } catch (error) {
        errors.push(error)
        removed += await compaction.removeFilesOf(isSent).catch(another => {
          errors.push(another)
          return 0
        })
      }
      this.#sent.keepOnly(id => log.index.locationOf(id) !== undefined)
    }
    if (this.#sent.size > 0 && errors.length > 0) failed(errors[0])
    return removed
  }
}

async function isTaken(target: DeadLetterQueue, letter: DeadLetter): Promise<boolean> {
  return target.send(letter).then(
    () => true,
    () => false,
  )
}

interface Held extends LineLocation {
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
  for (const portion of portionsOf(ids, READ_AT_ONCE)) {
    const all = heldIn(log, portion)
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
 * not have the new version yet: then the result is false. A rewrite of the file also changes the location, but not the
 * letter.
 */
async function remove(log: LetterLog, sent: DeadLetter, held: Held): Promise<boolean> {
  if ((await log.delete([held.id], (_, now) => isSameLine(held, now))).length > 0) return true
  const [current] = heldIn(log, [held.id])
  const [now] = await log.read([held.id])
  const isUnchanged = current !== undefined && now !== undefined && encodeLetter(now) === encodeLetter(sent)
  return isUnchanged && (await remove(log, sent, current))
}
