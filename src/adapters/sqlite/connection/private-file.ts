import * as fs from 'node:fs'
import { threadId } from 'node:worker_threads'

const OWNER_ONLY = 0o600

/**
 * Creates the database file, readable only by its owner, if it does not exist. SQLite would create it readable by everyone.
 * SQLite gives the files beside it, such as the write-ahead log, the same mode.
 *
 * The file is created under another name and then linked. To open and close the database file itself would drop the locks
 * that another connection of this process holds on it, because POSIX locks belong to the process.
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
