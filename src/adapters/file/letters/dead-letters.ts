import { sumOf } from '../../../adapter-kit/expiry.ts'
import {
  examinedHandlers,
  examinedStats,
  examinedTimeline,
  examinedVersions,
  isExamined,
  listExamined,
} from '../../../adapter-kit/query/examined-letters.ts'
import { changeLetter } from '../../../core/dead-letter/change.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { type Retention, retentionRule } from '../../../core/dead-letter/retention.ts'
import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { integer, optional, text, withDefault } from '../../../core/options/rules.ts'
import type {
  DeadLetterStore,
  HandlerCount,
  LetterChange,
  LetterCounts,
  LetterFilter,
  LetterPage,
  LetterQuery,
  LetterStats,
  LetterVersion,
  SeenLetter,
  TimelineSpan,
} from '../../../ports/dead-letters.ts'
import { type Files, realFiles } from '../journal/files.ts'
import { type FileUsage, usageOf } from '../journal/usage.ts'
import { FileAudit } from '../operating/audit.ts'
import { DEFAULT_RETENTION_MS, type JournalOptions, journalRules, journalSettings } from '../options.ts'
import { expireLetters } from './cleanup.ts'
import { LazyLetterLog } from './lazy-letter-log.ts'
import { countByHandler, countLetters, countOverTime, listLetters, versionsOf } from './queries.ts'
import type { LetterFacts } from './record.ts'

/** Options of a dead-letter store in a folder. */
export interface FileDeadLettersOptions extends JournalOptions {
  /** Names the store in errors ['file']. */
  readonly name?: string | undefined
  /** `cleanup` deletes decided letters, resolved or discarded, that were last changed so long ago [30 days]. */
  readonly retentionMs?: number | 'never' | undefined
  /**
   * The same for undecided letters without `expiresAfterMs`: dead, quarantined or parked. The store then
   * deletes events that were never handled ['never'].
   */
  readonly expireUndecidedAfterMs?: number | 'never' | undefined
  /** The most letters that the store accepts [as many as fit on the disk]. It refuses more. */
  readonly capacity?: number | undefined
}

export const deadLetterRules = {
  ...journalRules,
  name: withDefault(text(), 'file'),
  retentionMs: withDefault(retentionRule, DEFAULT_RETENTION_MS),
  expireUndecidedAfterMs: withDefault(retentionRule, 'never'),
  capacity: optional(integer({ min: 1 })),
}

/** Creates a store of dead letters as JSON lines, with one folder for each UTC day. It is durable and needs no server. */
export function fileDeadLetters(options: FileDeadLettersOptions): FileDeadLetters {
  return new FileDeadLetters(resolveOptions('fileDeadLetters', deadLetterRules, options))
}

/** The store opens its folder at its first use. */
export class FileDeadLetters implements DeadLetterStore {
  readonly #options: Resolved<typeof deadLetterRules>
  /** The audit log of this folder. It also records what retention deletes. */
  readonly audit: FileAudit
  /** The log of letters, which the groups of the same store read. */
  readonly log: LazyLetterLog

  constructor(options: Resolved<typeof deadLetterRules>, files: Files = realFiles) {
    this.#options = options
    this.log = new LazyLetterLog(options.name, options, files, options.capacity)
    this.audit = new FileAudit(journalSettings(options, files, 'audit'))
  }

  send(letter: DeadLetter): Promise<void> {
    return this.log.write(log => log.send(letter))
  }

  async list(query?: LetterQuery): Promise<LetterPage> {
    if (query !== undefined && isExamined(query)) return listExamined(this, query)
    const { log } = await this.log.read()
    return await listLetters(log, query)
  }

  async get(id: string): Promise<DeadLetter | undefined> {
    const { log } = await this.log.read()
    const [letter] = await log.read([id])
    return letter
  }

  async change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    return await this.log.write(log => log.change(id, letter => changeLetter(letter, change)))
  }

  async delete(id: string, seen?: LetterVersion): Promise<boolean> {
    const deleted = await this.log.write(log => log.delete([id], seen && (facts => isAsSeen(facts, seen))))
    return deleted.length > 0
  }

  async deleteMany(seen: readonly SeenLetter[]): Promise<readonly string[]> {
    const byId = new Map(seen.map(each => [each.id, each]))
    return await this.log.write(log =>
      log.delete([...byId.keys()], (facts, _, id) => isAsSeen(facts, byId.get(id)!)),
    )
  }

  async *versions(filter: LetterFilter = {}): AsyncGenerator<readonly SeenLetter[]> {
    if (isExamined(filter)) return yield* examinedVersions(this, filter)
    const { log } = await this.log.read()
    yield* versionsOf(log, filter)
  }

  async stats(filter: LetterFilter = {}): Promise<LetterStats> {
    if (isExamined(filter)) return examinedStats(this, filter)
    const { log } = await this.log.read()
    return await countLetters(log, filter)
  }

  async countByHandler(filter: LetterFilter = {}): Promise<readonly HandlerCount[]> {
    if (isExamined(filter)) return examinedHandlers(this, filter)
    const { log } = await this.log.read()
    return await countByHandler(log, filter)
  }

  async timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    if (isExamined(filter)) return examinedTimeline(this, filter, span)
    const { log } = await this.log.read()
    return await countOverTime(log, filter, span)
  }

  /** Deletes letters like `expire`, and returns their number. Nothing calls it by itself: call it on a schedule. */
  async cleanup(now: number = this.#options.clock.now()): Promise<number> {
    return sumOf(await this.expire(now))
  }

  /** Deletes letters past their retention, records that in the audit log, and frees their space. */
  async expire(now: number): Promise<LetterCounts> {
    return await expireLetters(await this.log.read(), this.audit, this.#options, now)
  }

  get retention(): Retention {
    const { retentionMs, expireUndecidedAfterMs } = this.#options
    return { retentionMs, expireUndecidedAfterMs }
  }

  async usage(): Promise<FileUsage> {
    const { log } = await this.log.read()
    return usageOf(log.journal)
  }

  async close(): Promise<void> {
    await this.log.close()
    await this.audit.close()
  }
}

function isAsSeen({ kind, lastFailedAt }: LetterFacts, seen: LetterVersion): boolean {
  return kind.state === seen.state && lastFailedAt === seen.lastFailedAt
}
