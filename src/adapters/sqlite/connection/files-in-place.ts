import * as fs from 'node:fs'
import {
  type FoundFile,
  foundByError,
  identityOf,
  type OpenedFile,
  requireInPlace,
} from '../../../adapter-kit/opened-file.ts'

/** How often the files beside the database are compared. Nobody removes them alone, except by mistake. */
const COMPANIONS_EVERY_MS = 1_000

/**
 * The files of an open database: the database, its write-ahead log and the index of that log. When one of them was removed, moved
 * or replaced, a commit would succeed, and no other process and no later one would ever see it.
 */
export class FilesInPlace {
  /** Undefined if the system did not say what was opened. Then nothing is compared. */
  readonly database: OpenedFile | undefined
  readonly #log: OpenedFile | undefined
  readonly #logIndex: OpenedFile | undefined
  #comparedAt = Number.NEGATIVE_INFINITY

  /** Remembers the files of a database that was just opened. */
  constructor(path: string) {
    // SQLite keeps the other two beside the file that a symbolic link points to.
    const target = targetOf(path)
    this.database = openedAt(path)
    this.#log = openedAt(`${target}-wal`)
    this.#logIndex = openedAt(`${target}-shm`)
  }

  /** Throws if one of the files is gone. It is cheap enough for every commit. */
  check(steadyNow: number): void {
    requireFile(this.database)
    if (Math.abs(steadyNow - this.#comparedAt) < COMPANIONS_EVERY_MS) return
    for (const file of [this.#log, this.#logIndex]) requireFile(file)
    this.#comparedAt = steadyNow
  }

  /**
   * Whether the database is gone and its write-ahead log is still there. SQLite would add that log to any file that someone puts in
   * the place of the database, and so damage it.
   */
  get leftItsLog(): boolean {
    return this.#log !== undefined && !isInPlace(this.database) && isInPlace(this.#log)
  }
}

/** Throws if the file is gone. */
export function requireFile(file: OpenedFile | undefined): void {
  if (file !== undefined) requireInPlace(file, lookAt(file.path))
}

function isInPlace(file: OpenedFile | undefined): boolean {
  try {
    requireFile(file)
    return true
  } catch {
    return false
  }
}

function openedAt(path: string): OpenedFile | undefined {
  const found = lookAt(path)
  return typeof found === 'string' ? undefined : { path, identity: found.identity }
}

function lookAt(path: string): FoundFile {
  try {
    const stats = fs.statSync(path, { bigint: true, throwIfNoEntry: false })
    return stats === undefined ? 'missing' : { identity: identityOf(stats) }
  } catch (error) {
    return foundByError(error)
  }
}

function targetOf(path: string): string {
  try {
    return fs.realpathSync(path)
  } catch {
    return path
  }
}
