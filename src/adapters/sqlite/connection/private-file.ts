import * as fs from 'node:fs'
import { dirname, resolve } from 'node:path'
import { threadId } from 'node:worker_threads'

const OWNER_ONLY = 0o600

/**
 * Creates the database file, readable only by its owner, if it does not exist. SQLite would create it readable by everyone.
 * SQLite gives the files beside it, such as the write-ahead log, the same mode.
 *
 * The file is created under another name and then linked. To open and close the database file itself would drop the locks
 * that another connection of this process holds on it, because POSIX locks belong to the process.
 */
export function makePrivate(given: string): void {
  if (fs.existsSync(given)) return
  const path = endOfLinks(given)
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
    // Another process was faster. Or the file system has no links: then this file still becomes the database.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    if (fs.existsSync(path)) throw error
    fs.renameSync(unnamed, path)
  } finally {
    fs.rmSync(unnamed, { force: true })
  }
}

/** Linux follows no more than this. */
const MAX_LINKS = 40

/**
 * The path that symbolic links lead to, also if nothing is there yet. The links stay: a file in their place would keep the data on
 * another disk than its owner said.
 */
function endOfLinks(path: string): string {
  let end = path
  for (let links = 0; links < MAX_LINKS; links++) {
    try {
      end = resolve(dirname(end), fs.readlinkSync(end))
    } catch {
      return end
    }
  }
  return end
}
