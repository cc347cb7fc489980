import * as fs from 'node:fs'
import { threadId } from 'node:worker_threads'

const OWNER_ONLY = 0o600

/**
 * Makes an empty file that only its owner may read, if there is none: SQLite would let everybody read it. What SQLite puts
 * beside it, the write-ahead log above all, gets the mode of the file.
 *
 * The file gets its name by a link. Opening and closing it by its name would drop the locks that another connection of
 * this process has taken on it meanwhile: POSIX locks belong to the process.
 */
export function makePrivate(path: string): void {
  if (fs.existsSync(path)) return
  const unnamed = `${path}.${process.pid}-${threadId}.new`
  try {
    fs.writeFileSync(unnamed, '', { flag: 'wx', mode: OWNER_ONLY })
  } catch {
    // The folder is not there or may not be written to. SQLite says so in a moment, and in its own words.
    return
  }
  try {
    fs.linkSync(unnamed, path)
  } catch (error) {
    // Another process was faster, or the file system has no links. In the second case this file still becomes the
    // database.
    if (!fs.existsSync(path)) fs.renameSync(unnamed, path)
    else if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    fs.rmSync(unnamed, { force: true })
  }
}
