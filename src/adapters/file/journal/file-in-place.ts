import {
  FileGoneError,
  foundByError,
  type OpenedFile,
  requireInPlace,
} from '../../../adapter-kit/opened-file.ts'
import type { Files } from './files.ts'

/**
 * A folder or file that this process uses. When it was removed, moved or replaced, writes would go on without an error into a file that
 * nobody finds, and an empty folder would take its place.
 */
export class FileInPlace {
  readonly #files: Files
  readonly #opened: OpenedFile | undefined

  private constructor(files: Files, opened: OpenedFile | undefined) {
    this.#files = files
    this.#opened = opened
  }

  /** Remembers what the path names now. A path that cannot be examined now is not compared later. */
  static async of(files: Files, path: string): Promise<FileInPlace> {
    const identity = await files.identify(path).catch(() => undefined)
    return new FileInPlace(files, identity === undefined ? undefined : { path, identity })
  }

  /** Rejects with FileGoneError if the path no longer names it. */
  async require(): Promise<void> {
    if (this.#opened === undefined) return
    const found = await this.#files.identify(this.#opened.path).then(identity => ({ identity }), foundByError)
    requireInPlace(this.#opened, found)
  }
}

export function isGone(error: unknown): boolean {
  return (
    error instanceof FileGoneError ||
    (error as { cause?: unknown } | undefined)?.cause instanceof FileGoneError
  )
}
