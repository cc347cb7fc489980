import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { transition } from '../../core/dead-letter/state.ts'
import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import { integer, optional, text, that, withDefault } from '../../core/options/rules.ts'
import type {
  DeadLetterStore,
  LetterChange,
  LetterFilter,
  LetterPage,
  LetterQuery,
  LetterSeen,
  LetterStats,
  TimelineSpan,
} from '../../ports/dead-letters.ts'
import { cleanUp } from './cleanup.ts'
import { type Files, realFiles } from './journal/files.ts'
import { LogDoor } from './letters/log-door.ts'
import { listLetters } from './letters/pages.ts'
import { countLetters, timeLetters } from './letters/stats.ts'
import { DEFAULT_RETENTION_MS, type JournalOptions, journalRules } from './options.ts'

export interface FileDeadLettersOptions extends JournalOptions {
  /** Names the store in errors ['file']. */
  readonly name?: string | undefined
  /** Letters that nothing has happened to for so long are removed by `cleanup` [30 days]. */
  readonly retentionMs?: number | 'never' | undefined
  /** Letters it takes; one more is refused [as many as fit on the disk]. */
  readonly capacity?: number | undefined
}

export const deadLetterRules = {
  ...journalRules,
  name: withDefault(text(), 'file'),
  retentionMs: withDefault(
    that(isRetention, "give milliseconds above 0, or 'never' to keep them for ever"),
    DEFAULT_RETENTION_MS,
  ),
  capacity: optional(integer({ min: 1 })),
}

/** What the store takes up on the disk. */
export interface FileUsage {
  readonly path: string
  readonly bytes: number
  readonly files: number
  /** Pieces of damage come upon since it was opened. */
  readonly damaged: number
}

/** Dead letters as JSON lines in a folder, one folder in it per UTC day. Nothing to install, and durable. */
export function fileDeadLetters(options: FileDeadLettersOptions): FileDeadLetters {
  return new FileDeadLetters(resolveOptions('fileDeadLetters', deadLetterRules, options))
}

/** It opens the folder when it is first used. */
export class FileDeadLetters implements DeadLetterStore {
  readonly #options: Resolved<typeof deadLetterRules>
  readonly #door: LogDoor

  constructor(options: Resolved<typeof deadLetterRules>, files: Files = realFiles) {
    this.#options = options
    this.#door = new LogDoor(options.name, options, files, options.capacity)
  }

  /** For the groups of the same store, which follow from its letters. */
  get door(): LogDoor {
    return this.#door
  }

  send(letter: DeadLetter): Promise<void> {
    return this.#door.write(log => log.send(letter))
  }

  async list(query?: LetterQuery): Promise<LetterPage> {
    const { log } = await this.#door.read()
    return await listLetters(log, query)
  }

  async get(id: string): Promise<DeadLetter | undefined> {
    const { log } = await this.#door.read()
    const [letter] = await log.read([id])
    return letter
  }

  async change(id: string, { from, to, at, replayId }: LetterChange): Promise<DeadLetter | undefined> {
    return await this.#door.write(log =>
      log.change(id, letter => {
        if (from !== undefined && letter.state !== from) return undefined
        return transition(letter, to, at, replayId)
      }),
    )
  }

  async delete(id: string, seen?: LetterSeen): Promise<boolean> {
    const deleted = await this.#door.write(log =>
      log.delete([id], seen && (row => log.table.index.isAsSeen(row, seen))),
    )
    return deleted > 0
  }

  async stats(filter?: LetterFilter): Promise<LetterStats> {
    const { log } = await this.#door.read()
    return await countLetters(log, filter)
  }

  async timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    const { log } = await this.#door.read()
    return await timeLetters(log, filter, span)
  }

  /**
   * Removes letters that have expired or outlived the retention, and gives their space back. Answers how many went. It
   * does nothing by itself: call it on a schedule.
   */
  async cleanup(now: number = this.#options.clock.now()): Promise<number> {
    const { retentionMs } = this.#options
    const opened = await this.#door.read()
    return await cleanUp(opened, now, retentionMs === 'never' ? Number.POSITIVE_INFINITY : retentionMs)
  }

  async usage(): Promise<FileUsage> {
    const { log } = await this.#door.read()
    const { segments, folder, damage } = log.journal
    const bytes = segments.all.reduce((sum, segment) => sum + segment.end, 0)
    return { path: folder.dir, bytes, files: segments.all.length, damaged: damage.count }
  }

  async close(): Promise<void> {
    await this.#door.close()
  }
}

function isRetention(value: unknown): value is number | 'never' {
  return value === 'never' || (typeof value === 'number' && Number.isFinite(value) && value > 0)
}
