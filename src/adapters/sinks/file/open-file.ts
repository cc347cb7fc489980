import { endsWithinLine } from '../../../adapter-kit/file-system.ts'
import { followPath } from '../../../adapter-kit/followed-path.ts'
import { isInPlace, type OpenedFile, requireInPlace } from '../../../adapter-kit/opened-file.ts'
import type { Files } from './files.ts'

const NEWLINE = 10
const LOOK_BACK_BYTES = 65_536

interface Opened {
  readonly fd: number
  /** Somebody else has opened the descriptor and closes it. */
  readonly isBorrowed: boolean
  /** Where the file is, behind all links. */
  readonly path: string
  /**
   * It is a device, a pipe, or a file that a descriptor such as `/dev/stderr` names. The sink only appends to it: a device or a
   * pipe that was moved away would be lost, and others write to the file behind a descriptor.
   */
  readonly isShared: boolean
  /** What the path of the sink named when it was opened. */
  readonly named: OpenedFile
}

/** The file that is being written, and how much of it is whole lines. */
export class OpenFile {
  readonly #files: Files
  readonly #opened: Opened
  /** The time of the last write, by this or an earlier process. */
  writtenAt: number
  size: number

  private constructor(files: Files, opened: Opened, size: number, writtenAt: number) {
    this.#files = files
    this.#opened = opened
    this.size = size
    this.writtenAt = writtenAt
  }

  get path(): string {
    return this.#opened.path
  }

  get isShared(): boolean {
    return this.#opened.isShared
  }

  /** Opens the file. A crash may have torn the last line. It was never acknowledged, so its rest is removed. */
  static async open(files: Files, given: string): Promise<OpenFile> {
    const { path, descriptor } = await followPath(given)
    // Text through a second descriptor would be overwritten by those who write to a file through the first.
    const isBorrowed = typeof descriptor === 'number' && (await files.stat(descriptor)).isFile
    const fd = isBorrowed ? descriptor : await files.open(given)
    try {
      const { size, mtimeMs, isFile, identity } = await files.stat(fd)
      const isShared = descriptor !== undefined || !isFile
      const whole = isShared ? size : await wholeLines(files, fd, size)
      if (whole < size) await files.truncate(fd, whole)
      const named = { path: given, identity }
      return new OpenFile(files, { fd, isBorrowed, path, isShared, named }, whole, mtimeMs)
    } catch (error) {
      if (!isBorrowed) await files.close(fd).catch(() => {})
      throw error
    }
  }

  /**
   * Whether the path of the sink still names this file. The system keeps writing to a file that was removed or moved, and
   * nobody finds there what was written.
   */
  async isInPlace(): Promise<boolean> {
    const { named } = this.#opened
    return isInPlace(named, await this.#files.find(named.path))
  }

  /** Appends all lines, or none: the part that a full disk accepted is removed again. In a shared file it stays. */
  async append(lines: Uint8Array, isDurable: boolean, now: number): Promise<void> {
    const { fd, isShared, named } = this.#opened
    const isTorn = isShared && (await endsWithinLine(fd))
    try {
      await this.#files.append(fd, isTorn ? Buffer.concat([Buffer.from('\n'), lines]) : lines)
      if (isDurable) {
        await this.#files.datasync(fd)
        requireInPlace(named, await this.#files.find(named.path))
      }
    } catch (error) {
      // Lines that cannot even be cut off are written again by the next attempt: duplicates, never a gap.
      if (!isShared) await this.#files.truncate(fd, this.size).catch(() => {})
      throw error
    }
    this.size += lines.length
    this.writtenAt = now
  }

  async close(): Promise<void> {
    const { fd, isBorrowed } = this.#opened
    if (!isBorrowed) await this.#files.close(fd)
  }
}

/** The number of bytes at the beginning of the file that form complete lines. */
async function wholeLines(files: Files, fd: number, size: number): Promise<number> {
  const block = Buffer.alloc(Math.min(size, LOOK_BACK_BYTES))
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - block.length)
    const count = await files.read(fd, block.subarray(0, end - start), start)
    const at = block.subarray(0, count).lastIndexOf(NEWLINE)
    if (at >= 0) return start + at + 1
    end = start
  }
  return 0
}
