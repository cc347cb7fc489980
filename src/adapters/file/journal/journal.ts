import { join } from 'node:path'
import { Serial } from '../../../adapter-kit/serial.ts'
import { createIdSource } from '../../../core/event/uuid.ts'
import type { Random } from '../../../core/random.ts'
import { type Clock, systemClock } from '../../../ports/clock.ts'
import { explained } from '../errors.ts'
import { Commits, type Decision, type Write } from './commits.ts'
import { type Damage, DamageReport } from './damage.ts'
import { type Files, makeFolder } from './files.ts'
import type { JournalRecord } from './line.ts'
import { FolderLock } from './lock.ts'
import { describeSelf, enterOwner, hasEnded, leaveOwner, type Owner, sweepOwners } from './owner.ts'
import { MOST_REREADS, readSpots } from './read-spots.ts'
import { type JournalUser, type Place, SegmentSet } from './segment-set.ts'
import { SegmentFolder } from './segments.ts'
import { Tail } from './tail.ts'
import { Turn, writerOf } from './turn.ts'

export interface JournalSettings {
  readonly files: Files
  readonly dir: string
  /** What its files are called: `letters` makes `letters-000001.jsonl`. */
  readonly prefix: string
  readonly rotateBytes: number
  readonly clock: Clock
  readonly random: Random
  readonly onDamage: (damage: Damage) => void
}

const LOCK_FOLDER = 'lock'

/**
 * An append-only journal of checksummed JSON lines that several processes may open at once. One of them writes at a
 * time; every one knows all that was written before it decides what to write, so reading, deciding and writing is one
 * step for all of them.
 */
export async function openJournal(settings: JournalSettings, user: JournalUser): Promise<Journal> {
  const { files, dir, clock, random } = settings
  const lockFolder = join(dir, LOCK_FOLDER)
  const self = await describeSelf(files, createIdSource(random)(clock.now()))
  const turn = new Turn(files, join(lockFolder, 'turn'), self.id)
  try {
    await makeFolder(files, lockFolder)
    await enterOwner(files, lockFolder, self)
    await turn.open()
    const journal = new Journal(settings, user, lockFolder, self, turn)
    await sweepOwners(files, lockFolder, self)
    await journal.refresh()
    return journal
  } catch (error) {
    await turn.close().catch(() => {})
    await leaveOwner(files, lockFolder, self).catch(() => {})
    throw explained('opening', dir, error)
  }
}

export class Journal {
  readonly segments: SegmentSet
  readonly folder: SegmentFolder
  readonly damage: DamageReport
  readonly files: Files
  /** Keeps two processes from rewriting the same files. */
  readonly rewriting: FolderLock
  readonly #commits: Commits
  readonly #tail: Tail
  readonly #turn: Turn
  readonly #lockFolder: string
  readonly #self: Owner
  /** The turn up to which everything was read. */
  #seen: string | undefined
  #isWriting = false
  /** Before it writes for the first time it looks at the end under the lock: a power failure may have torn it. */
  #hasWritten = false
  readonly #exclusive = new Serial()

  constructor(settings: JournalSettings, user: JournalUser, lockFolder: string, self: Owner, turn: Turn) {
    const { files, clock, dir, prefix, rotateBytes } = settings
    this.files = files
    this.damage = new DamageReport(settings.onDamage)
    this.folder = new SegmentFolder(files, dir, prefix)
    this.segments = new SegmentSet(files, this.folder, user, this.damage)
    // Whoever is waited for lives in real time, whatever clock this process goes by.
    this.rewriting = new FolderLock(files, systemClock, lockFolder, 'rewriting', self)
    this.#tail = new Tail(files, clock, this.folder, this.segments, rotateBytes)
    this.#turn = turn
    this.#lockFolder = lockFolder
    this.#self = self
    this.#commits = new Commits({
      dir,
      clock: systemClock,
      tail: this.#tail,
      lock: new FolderLock(files, systemClock, lockFolder, 'writing', self),
      begin: isStrange => this.#beginWriting(isStrange),
      end: () => this.#endWriting(),
    })
  }

  /**
   * Decides and writes as one step: the decision is made when all that any process wrote before is known, and nothing
   * comes between it and its records. Resolves when they are durable.
   */
  decide<T>(make: () => Decision<T> | Promise<Decision<T>>, isLazy = false): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let decision: Decision<T> | undefined
    const recordsOf = (made: Decision<T>) => {
      decision = made
      return made.records
    }
    const write: Write = {
      records() {
        const made = make()
        return made instanceof Promise ? made.then(recordsOf) : recordsOf(made)
      },
      written: places => resolve(decision!.written(places)),
      failed(error) {
        decision?.failed?.()
        reject(error)
      },
    }
    this.#commits.add(write, isLazy)
    return promise
  }

  /** Where the segment of that number is now; nowhere when it is gone. */
  pathOf(segment: number): string {
    const found = this.segments.find(segment)
    return found === undefined ? '' : this.folder.path(found.name)
  }

  /** Makes known what other processes have written. Cheap when there is nothing. */
  async refresh(): Promise<void> {
    // Whoever writes knows everything already, and nobody else can write.
    if (this.#isWriting) return
    await this.exclusively(async () => {
      if (this.#isWriting) return
      const turn = await this.#turn.read()
      if (turn !== this.#seen) await this.#catchUp(turn, false)
    })
  }

  /** Reads the folder again although no turn was taken: a file was not where it should be. */
  async reread(): Promise<void> {
    await this.exclusively(() => this.segments.catchUp(false))
  }

  /** The records in the places given, as they are at the moment of reading; what is damaged is left out. */
  async read(placesNow: () => readonly Place[]): Promise<JournalRecord[]> {
    for (let rereads = 0; ; rereads++) {
      const spots = placesNow().map(place => ({ ...place, path: this.pathOf(place.segment) }))
      const found = await readSpots(this.files, spots)
      if (!found.includes('gone') || rereads === MOST_REREADS) {
        return found.filter(record => typeof record !== 'string')
      }
      await this.reread()
    }
  }

  /** Whatever runs in here does not meet another reading of the folder. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#exclusive.run(work)
  }

  /** Writes everything that was submitted. */
  async close(): Promise<void> {
    await this.#commits.settle()
    await this.#exclusive.settled()
    await this.#tail.close()
    await this.#turn.close()
    await leaveOwner(this.files, this.#lockFolder, this.#self)
  }

  async #beginWriting(isStrange: boolean): Promise<void> {
    await this.exclusively(async () => {
      if (isStrange) await this.#turn.open()
      const turn = await this.#turn.read()
      if (isStrange || !this.#hasWritten || turn !== this.#seen) await this.#catchUp(turn, true)
      this.#hasWritten = true
      await this.#turn.begin()
      this.#isWriting = true
    })
  }

  async #endWriting(): Promise<void> {
    if (!this.#isWriting) return
    // If it cannot be told that the turn is over, everyone looks at the folder each time, and misses nothing.
    const turn = await this.#turn.end().catch(() => undefined)
    this.#seen = this.segments.hasUnread ? undefined : turn
    this.#isWriting = false
  }

  async #catchUp(turn: string, isAlone: boolean): Promise<void> {
    this.#seen = undefined
    try {
      const isOver = await this.#isOver(turn)
      await this.segments.catchUp(isAlone)
      if (isOver) this.#seen = turn
    } catch (error) {
      throw explained('reading', this.folder.dir, error)
    }
  }

  /** In the middle of a turn there is more to come, unless whoever has it died writing. */
  async #isOver(turn: string): Promise<boolean> {
    const writer = writerOf(turn)
    return writer === undefined || (await hasEnded(this.files, this.#lockFolder, writer, this.#self))
  }
}
