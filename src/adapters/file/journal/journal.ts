import { join } from 'node:path'
import { SerialQueue } from '../../../adapter-kit/serial-queue.ts'
import { createIdSource } from '../../../core/event/uuid.ts'
import type { Random } from '../../../core/random.ts'
import { type Clock, systemClock } from '../../../ports/clock.ts'
import { StoreFailedError, toStoreError } from '../errors.ts'
import { Commits, type Decision, type Write } from './commits.ts'
import { type Damage, DamageReport } from './damage.ts'
import { FileInPlace } from './file-in-place.ts'
import { type Files, makeFolder } from './files.ts'
import type { JournalRecord } from './line.ts'
import { FolderLock } from './lock.ts'
import {
  describeSelf,
  hasEnded,
  type Owner,
  registerOwner,
  removeDeadOwners,
  unregisterOwner,
} from './owner.ts'
import { MAX_REREADS, readRanges } from './read-ranges.ts'
import { type JournalUser, type RecordLocation, SegmentSet } from './segment-set.ts'
import { SegmentFolder } from './segments.ts'
import { Tail } from './tail.ts'
import { activeWriter, WriteMarker } from './write-marker.ts'

export interface JournalSettings {
  readonly files: Files
  readonly dir: string
  /** The prefix of the file names: `letters` gives `letters-000001.jsonl`. */
  readonly prefix: string
  readonly rotateBytes: number
  readonly clock: Clock
  readonly random: Random
  readonly onDamage: (damage: Damage) => void
}

const LOCK_FOLDER = 'lock'

/**
 * Opens an append-only journal of checksummed JSON lines. Several processes may open it at once, and one of them writes
 * at a time. A process reads everything that others have written before it decides what to write, so that reading,
 * deciding and writing are one atomic step.
 */
export async function openJournal(settings: JournalSettings, user: JournalUser): Promise<Journal> {
  const { files, dir, clock, random } = settings
  const lockFolder = join(dir, LOCK_FOLDER)
  const self = await describeSelf(files, createIdSource(random)(clock.now()))
  const marker = new WriteMarker(files, join(lockFolder, 'turn'), self.id)
  try {
    await makeFolder(files, lockFolder)
    // First, because on a full disk this may free the space that the next record needs.
    await removeDeadOwners(files, lockFolder, self)
    await registerOwner(files, lockFolder, self)
    await marker.open()
    const place = await FileInPlace.of(files, dir)
    const journal = new Journal(settings, user, lockFolder, self, marker, place)
    await journal.refresh()
    return journal
  } catch (error) {
    await marker.close().catch(() => {})
    await unregisterOwner(files, lockFolder, self).catch(() => {})
    throw toStoreError('opening', dir, error)
  }
}

export class Journal {
  readonly segments: SegmentSet
  readonly folder: SegmentFolder
  readonly damage: DamageReport
  readonly files: Files
  /** Prevents two processes from rewriting the same files. */
  readonly rewriting: FolderLock
  readonly #commits: Commits
  readonly #tail: Tail
  readonly #marker: WriteMarker
  readonly #place: FileInPlace
  readonly #lockFolder: string
  readonly #self: Owner
  /** The write marker up to which everything was read. */
  #seen: string | undefined
  #isWriting = false
  /**
   * Before its first write the journal checks the end of the file under the lock, because a power failure may have torn
   * it.
   */
  #hasWritten = false
  readonly #exclusive = new SerialQueue()

  constructor(
    settings: JournalSettings,
    user: JournalUser,
    lockFolder: string,
    self: Owner,
    marker: WriteMarker,
    place: FileInPlace,
  ) {
    const { files, clock, dir, prefix, rotateBytes } = settings
    this.files = files
    this.damage = new DamageReport(settings.onDamage)
    this.folder = new SegmentFolder(files, dir, prefix)
    this.segments = new SegmentSet(files, this.folder, user, this.damage)
    // The lock needs real time, because other processes hold it too. This process may use another clock.
    const newLock = (name: string) =>
      new FolderLock(files, systemClock, lockFolder, name, self, () => place.require())
    this.rewriting = newLock('rewriting')
    this.#tail = new Tail(files, clock, this.folder, this.segments, rotateBytes, place)
    this.#marker = marker
    this.#place = place
    this.#lockFolder = lockFolder
    this.#self = self
    this.#commits = new Commits({
      dir,
      clock: systemClock,
      append: bytes => this.#append(bytes),
      lock: newLock('writing'),
      begin: mustRecheck => this.#beginWriting(mustRecheck),
      end: () => this.#endWriting(),
      mustReread: () => this.segments.isPartial,
    })
  }

  /**
   * Decides and writes in one atomic step: the decision is made when all earlier writes of all processes are known.
   * Resolves when the records are durable.
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
      written: locations => resolve(decision!.written(locations)),
      failed(error) {
        decision?.failed?.()
        reject(error)
      },
    }
    this.#commits.add(write, isLazy)
    return promise
  }

  /** The current path of a segment; an empty text if the segment is gone. */
  pathOf(segment: number): string {
    const found = this.segments.find(segment)
    return found === undefined ? '' : this.folder.path(found.name)
  }

  /** Reads what other processes have written. It is cheap if there is nothing new. */
  async refresh(): Promise<void> {
    if (this.#knowsAll) return this.#requireFolder()
    await this.exclusively(async () => {
      if (this.#knowsAll) return
      const [marker] = await Promise.all([this.#marker.read(), this.#requireFolder()])
      if (marker !== this.#seen || this.segments.isPartial) await this.#catchUp(marker, false)
    })
  }

  /**
   * As `refresh`, and also makes known which files others have rewritten, because that changes no marker. It takes a turn,
   * so that no write of this process is under way while everything is read again.
   */
  refreshFiles(): Promise<void> {
    return this.decide(async () => {
      await this.exclusively(() => this.segments.rereadIfRebuilt())
      return { records: [], written: () => {} }
    })
  }

  /** Reads the folder again although the write marker is unchanged, because a file was missing. */
  async reread(): Promise<void> {
    await this.exclusively(async () => {
      await this.#requireFolder()
      await this.segments.catchUp(false)
    })
  }

  /** Reads the records at the given locations. Damaged records are reported and left out. */
  async read(locationsNow: () => readonly RecordLocation[]): Promise<JournalRecord[]> {
    for (let rereads = 0; ; rereads++) {
      const ranges = locationsNow().map(location => ({ ...location, path: this.pathOf(location.segment) }))
      const found = await readRanges(this.files, ranges)
      if (!found.includes('gone') || rereads === MAX_REREADS) {
        for (const [at, record] of found.entries()) if (record === 'damaged') this.#addDamage(ranges[at]!)
        return found.filter(record => typeof record !== 'string')
      }
      await this.reread()
    }
  }

  #addDamage({ segment, path, offset, length: bytes }: RecordLocation & { readonly path: string }): void {
    const found = this.segments.find(segment)
    if (found !== undefined) found.isDamaged = true
    this.damage.add({ kind: 'checksum', path, offset, bytes })
  }

  /** Runs the task while no other task reads the folder. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#exclusive.run(work)
  }

  /** Writes everything that was submitted, and closes. */
  async close(): Promise<void> {
    await this.#commits.settle()
    await this.#exclusive.settled()
    await this.#tail.close()
    await this.#marker.close()
    await unregisterOwner(this.files, this.#lockFolder, this.#self)
  }

  /** Without the folder there would be no letters, and no error. */
  async #requireFolder(): Promise<void> {
    await this.#place.require().catch(error => {
      throw toStoreError('reading', this.folder.dir, error)
    })
  }

  /** The writer has read everything already, and nobody else can write. */
  get #knowsAll(): boolean {
    return this.#isWriting && !this.segments.isPartial
  }

  async #beginWriting(mustRecheck: boolean): Promise<void> {
    await this.exclusively(async () => {
      if (mustRecheck) await this.#marker.open()
      const marker = await this.#marker.read()
      const isKnown = this.#hasWritten && marker === this.#seen && !this.segments.isPartial
      if (mustRecheck || !isKnown) await this.#catchUp(marker, true)
      this.#hasWritten = true
      await this.#marker.begin()
      this.#isWriting = true
    })
  }

  /**
   * Not while the folder is read again, and not after that has failed halfway: the last file that is known may then be an early
   * one, and a file behind it would have the number of another one, which readers take for a later revision.
   */
  #append(bytes: Buffer): ReturnType<Tail['append']> {
    return this.exclusively(async () => {
      if (this.segments.isPartial)
        throw new StoreFailedError('writing in', this.folder.dir, new Error('its files are not all read'))
      return await this.#tail.append(bytes)
    })
  }

  async #endWriting(): Promise<void> {
    if (!this.#isWriting) return
    // If the end of the write cannot be marked, every process reads the folder each time and misses nothing.
    const marker = await this.#marker.end().catch(() => undefined)
    this.#seen = this.segments.hasUnread ? undefined : marker
    this.#isWriting = false
  }

  async #catchUp(marker: string, isAlone: boolean): Promise<void> {
    this.#seen = undefined
    try {
      const isOver = await this.#isOver(marker)
      await this.segments.catchUp(isAlone)
      if (!isOver) return
      this.#seen = marker
      if (this.segments.hasSuspects && (await this.#marker.read()) === marker) this.segments.confirmDamage()
    } catch (error) {
      throw toStoreError('reading', this.folder.dir, error)
    }
  }

  /** During another process's write more lines follow, unless that process has crashed. */
  async #isOver(marker: string): Promise<boolean> {
    const writer = activeWriter(marker)
    return writer === undefined || (await hasEnded(this.files, this.#lockFolder, writer, this.#self))
  }
}
