import type { Files } from './files.ts'

const NEWLINE = 10
const LOOK_BACK_BYTES = 65_536

/** The file that is being written, and how much of it is whole lines. */
export class OpenFile {
  readonly #files: Files
  readonly #fd: number
  /** The time of the last write, by this or an earlier process. */
  writtenAt: number
  size: number

  private constructor(files: Files, fd: number, size: number, writtenAt: number) {
    this.#files = files
    this.#fd = fd
    this.size = size
    this.writtenAt = writtenAt
  }

  /** Opens the file. A crash may have torn the last line. It was never acknowledged, so its rest is removed. */
  static async open(files: Files, path: string): Promise<OpenFile> {
    const fd = await files.open(path)
    try {
      const { size, mtimeMs } = await files.stat(fd)
      const whole = await wholeLines(files, fd, size)
      if (whole < size) await files.truncate(fd, whole)
      return new OpenFile(files, fd, whole, mtimeMs)
    } catch (error) {
      await files.close(fd).catch(() => {})
      throw error
    }
  }

  /** Appends all lines, or none: the part that a full disk accepted is removed again. */
  async append(lines: Uint8Array, isDurable: boolean, now: number): Promise<void> {
    try {
      await this.#files.append(this.#fd, lines)
      if (isDurable) await this.#files.datasync(this.#fd)
    } catch (error) {
      // Lines that cannot even be cut off are written again by the next attempt: duplicates, never a gap.
      await this.#files.truncate(this.#fd, this.size).catch(() => {})
      throw error
    }
    this.size += lines.length
    this.writtenAt = now
  }

  close(): Promise<void> {
    return this.#files.close(this.#fd)
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
