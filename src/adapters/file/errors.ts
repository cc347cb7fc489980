import { FILE_GONE_REMEDY, FileGoneError } from '../../adapter-kit/opened-file.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import { codeOf } from './journal/files.ts'

/** A file operation failed. Everything that was acknowledged before is still stored. */
export class StoreFailedError extends LazaretError {
  override readonly name = 'StoreFailedError'
  readonly path: string

  constructor(doing: string, path: string, cause: unknown) {
    const { remedy, retryable } = adviceFor(cause)
    super(`${doing} ${path}: ${reasonOf(cause)}; ${remedy}`, {
      code: 'LAZARET_STORE_FAILED',
      retryable,
      cause,
    })
    this.path = path
  }
}

/** Another process held the lock for longer than any write takes. Nothing was written. */
export class StoreLockedError extends LazaretError {
  override readonly name = 'StoreLockedError'
  readonly path: string

  constructor(path: string, holder: string, waitedMs: number) {
    super(
      `${path}: ${holder} has held the lock for more than ${waitedMs} ms; stop that process, or remove the file if the process is gone`,
      { code: 'LAZARET_STORE_LOCKED', retryable: true },
    )
    this.path = path
  }
}

/** A file has damaged lines. They stay in the file, and all other lines are read. */
export class LinesDamagedError extends LazaretError {
  override readonly name = 'LinesDamagedError'
  readonly path: string

  constructor(path: string, count: number) {
    super(
      `${path}: has ${count === 1 ? '1 damaged line' : `${count} damaged lines`}; the lines are kept: check the disk, and restore the lines from a backup`,
      { code: 'LAZARET_STORE_DAMAGED', retryable: false },
    )
    this.path = path
  }
}

/** Returns an error of Lazaret as it is, and wraps any other with the operation and the path. */
export function toStoreError(doing: string, path: string, error: unknown): unknown {
  return error instanceof LazaretError ? error : new StoreFailedError(doing, path, error)
}

export function isDiskFull(error: unknown): boolean {
  const code = codeOf(error instanceof StoreFailedError ? error.cause : error)
  return code === 'ENOSPC' || code === 'EDQUOT'
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

function adviceFor(cause: unknown): { readonly remedy: string; readonly retryable: boolean } {
  if (cause instanceof FileGoneError) return { remedy: FILE_GONE_REMEDY, retryable: true }
  switch (codeOf(cause)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return { remedy: 'free disk space, then try again', retryable: true }
    case 'EIO':
      return { remedy: 'check the disk; acknowledged data is kept', retryable: true }
    case 'EMFILE':
    case 'ENFILE':
      return { remedy: 'allow more open files (ulimit -n)', retryable: true }
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return { remedy: 'give this process write permission, or use another folder', retryable: false }
    case 'ENOTDIR':
    case 'EEXIST':
      return { remedy: 'give the path of a folder, not of a file', retryable: false }
    default:
      return { remedy: 'check the cause, then try again', retryable: true }
  }
}
