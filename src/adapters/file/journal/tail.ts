import { constants } from 'node:fs'
import type { Clock } from '../../../ports/clock.ts'
import { isDiskFull, StoreFailedError } from '../errors.ts'
import { FileInPlace, isGone } from './file-in-place.ts'
import { codeOf, type Files, makeSubfolder } from './files.ts'
import type { Segment, SegmentSet } from './segment-set.ts'
import { dayOf, type SegmentFolder, type SegmentName } from './segments.ts'

/** The most numbers to try for a new file. Only files of a crash can be in the way, and there are one or two of them. */
const MAX_NUMBERS = 100
const CREATE = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL
const REOPEN = constants.O_WRONLY | constants.O_APPEND

interface Appended {
  readonly segment: Segment
  /** The offset of the first byte. */
  readonly offset: number
}

/** The last segment, open for appending. */
interface OpenSegment {
  readonly fd: number
  readonly segment: Segment
  readonly place: FileInPlace
}

/**
 * The end of the journal, where lines are added; for the holder of the lock only.
 *
 * A file that did not take a write, or did not say that it is on the disk, gets no more lines: after a failed sync
 * the system may have dropped the very bytes it then calls clean. Unacknowledged lines are cut off and go to a new
 * file. The cut file becomes its own next revision, so that a reader who saw the cut bytes reads it again. The segment
 * set keeps the mark in memory. It is lost when the folder is read from the beginning, which also reads what is on the disk.
 */
export class Tail {
  readonly #files: Files
  readonly #clock: Clock
  readonly #folder: SegmentFolder
  readonly #segments: SegmentSet
  readonly #rotateBytes: number
  readonly #place: FileInPlace
  #open: OpenSegment | undefined
  /** The segment to which this process wrote last, with its name at that time. */
  #last: (SegmentName & { readonly place: FileInPlace }) | undefined

  /** `place` is the folder of the journal. */
  constructor(
    files: Files,
    clock: Clock,
    folder: SegmentFolder,
    segments: SegmentSet,
    rotateBytes: number,
    place: FileInPlace,
  ) {
    this.#files = files
    this.#clock = clock
    this.#folder = folder
    this.#segments = segments
    this.#rotateBytes = rotateBytes
    this.#place = place
  }

  /** Resolves when the bytes are durable. If it rejects, the file contains none of them, unless the disk does not obey. */
  async append(bytes: Buffer): Promise<Appended> {
    try {
      return await this.#append(bytes)
    } catch (error) {
      if (isDiskFull(error) || isGone(error)) throw error
    }
    return await this.#append(bytes)
  }

  async close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    if (open !== undefined) await this.#files.close(open.fd)
  }

  async #append(bytes: Buffer): Promise<Appended> {
    const { fd, segment, place } = await this.#current()
    const offset = segment.end
    let size: number
    try {
      await this.#files.write(fd, bytes, offset)
      ;[size] = await Promise.all([this.#files.size(fd), this.#files.datasync(fd), place.require()])
      if (size === offset + bytes.length) {
        segment.end = size
        return { segment, offset }
      }
    } catch (error) {
      segment.hasUnread = !(await this.#cutOff(fd, segment, isGone(error)))
      await this.#abandon(fd, segment)
      // Nothing in an empty file can have been dropped. It is used again, or a full disk would get a file per write.
      if (segment.end === 0 && !segment.hasUnread) segment.isAbandoned = false
      throw new StoreFailedError('writing to', this.#folder.path(segment.name), error)
    }
    const sizeBefore = size - bytes.length
    if (sizeBefore < offset) this.#segments.addShrunk(segment, sizeBefore)
    // More is in it only if someone writes who lost the lock without noticing. The bytes of other writers are not cut
    // off, and the lines are written again at a known position.
    segment.hasUnread = true
    await this.#abandon(fd, segment)
    throw new StoreFailedError(
      'writing to',
      this.#folder.path(segment.name),
      new Error(
        sizeBefore < offset
          ? 'another program has cut the file'
          : 'another process wrote to the file at the same time',
      ),
    )
  }

  async #current(): Promise<OpenSegment> {
    const { last } = this.#segments
    const fits =
      last !== undefined &&
      !last.isAbandoned &&
      last.end < this.#rotateBytes &&
      last.name.day === dayOf(this.#clock.now())
    if (fits && this.#open?.segment === last) return this.#open
    await this.#requireLast(last)
    await this.close()
    this.#open = (fits ? await this.#reopen(last) : undefined) ?? (await this.#create(last))
    this.#last = { ...this.#open.segment.name, place: this.#open.place }
    return this.#open
  }

  /** No process removes the last file of a journal. People move away the files of past days. */
  async #requireLast(found: Segment | undefined): Promise<void> {
    const last = this.#last
    if (last === undefined || last.day !== dayOf(this.#clock.now())) return
    const { number = 0, revision = 0 } = found?.name ?? {}
    // Another process went on, or cut the file off.
    if (number > last.number || (number === last.number && revision !== last.revision)) return
    await last.place.require().catch(error => {
      throw new StoreFailedError('writing to', this.#folder.path(last), error)
    })
  }

  /**
   * Returns undefined if the length differs from what was read: the file has an incomplete line, or bytes of another
   * process.
   */
  async #reopen(segment: Segment): Promise<OpenSegment | undefined> {
    const path = this.#folder.path(segment.name)
    try {
      const fd = await this.#files.open(path, REOPEN)
      const size = await this.#files.size(fd)
      if (size < segment.end) this.#segments.addShrunk(segment, size)
      if (size === segment.end) return { fd, segment, place: await FileInPlace.of(this.#files, path) }
      await this.#files.close(fd)
      segment.isAbandoned = true
      return undefined
    } catch (error) {
      throw new StoreFailedError('opening', path, error)
    }
  }

  async #create(last: Segment | undefined): Promise<OpenSegment> {
    const first = (last?.name.number ?? 0) + 1
    const day = dayOf(this.#clock.now())
    for (let number = first; ; number++) {
      const name = { number, revision: 0, day }
      try {
        const fd = await this.#createFile(name)
        if (last !== undefined) this.#segments.close(last)
        const place = await FileInPlace.of(this.#files, this.#folder.path(name))
        return { fd, segment: this.#segments.add(name), place }
      } catch (error) {
        if (codeOf(error) === 'EEXIST' && number < first + MAX_NUMBERS) continue
        throw new StoreFailedError('creating', this.#folder.path(name), error)
      }
    }
  }

  async #createFile(name: SegmentName): Promise<number> {
    const path = this.#folder.path(name)
    await this.#place.require()
    await makeSubfolder(this.#files, this.#folder.dayFolder(name))
    const fd = await this.#files.open(path, CREATE)
    try {
      await this.#files.syncFolder(this.#folder.dayFolder(name))
      return fd
    } catch (error) {
      await this.#files.close(fd)
      await this.#files.remove(path).catch(() => {})
      throw error
    }
  }

  /**
   * Returns true if the lines are removed. Otherwise every process may find unacknowledged lines. Their senders were told
   * to send them again.
   */
  async #cutOff(fd: number, segment: Segment, isGone: boolean): Promise<boolean> {
    const next = { ...segment.name, revision: segment.name.revision + 1 }
    try {
      await this.#files.truncate(fd, segment.end)
      // Another file may have its name now.
      if (isGone) return false
      await this.#files.rename(this.#folder.path(segment.name), this.#folder.path(next))
      segment.name = next
      this.#last = undefined
      return true
    } catch {
      return false
    }
  }

  async #abandon(fd: number, segment: Segment): Promise<void> {
    this.#open = undefined
    segment.isAbandoned = true
    await this.#files.close(fd).catch(() => {})
  }
}
