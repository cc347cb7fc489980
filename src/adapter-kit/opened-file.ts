import type { BigIntStats } from 'node:fs'
import { basename } from 'node:path'

/**
 * A file or folder that is open, and its device and inode at that time. The system keeps writing to an open file that was removed
 * or moved, and reports no error. So a store compares this with what the path names now, before it acknowledges a write.
 */
export interface OpenedFile {
  readonly path: string
  readonly identity: string
}

/** What a path names now. `unknown`: the system did not say. */
export type FoundFile = { readonly identity: string } | 'missing' | 'unknown'

/** Some drives of Windows and some network mounts have no inodes. Then only a missing file is noticed. */
const NO_INODE = 'no inode'

export function identityOf({ dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>): string {
  return ino === 0n ? NO_INODE : `${dev}:${ino}`
}

/**
 * Interprets the error of a failed look at a path. A network mount that does not answer for a moment, or a missing permission, says
 * nothing about the file. Then the write itself decides.
 */
export function foundByError(error: unknown): FoundFile {
  const code = (error as { readonly code?: unknown } | undefined)?.code
  return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'unknown'
}

/** Throws if the path no longer names the file that was opened. The file may come back: then it is in place again. */
export function requireInPlace(opened: OpenedFile, found: FoundFile): void {
  if (!isInPlace(opened, found)) throw new FileGoneError(opened.path)
}

/** Whether the path still names the file that was opened, as far as the system says. */
export function isInPlace({ identity }: OpenedFile, found: FoundFile): boolean {
  if (found === 'unknown') return true
  if (found === 'missing') return false
  const isCompared = identity !== NO_INODE && found.identity !== NO_INODE
  return !isCompared || found.identity === identity
}

/** The remedy for a FileGoneError. */
export const FILE_GONE_REMEDY = 'put it back, or restart the service'

/** The path of an open file names no file or another one. */
export class FileGoneError extends Error {
  override readonly name = 'FileGoneError'

  constructor(path: string) {
    super(`${basename(path)} was removed or replaced while it was open`)
  }
}
