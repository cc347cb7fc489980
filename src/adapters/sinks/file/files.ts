import * as fs from 'node:fs'
import { promisify } from 'node:util'
import { syncFolder, writeAll } from '../../../adapter-kit/file-system.ts'
import { type FoundFile, foundByError, identityOf } from '../../../adapter-kit/opened-file.ts'

/**
 * The operations that the sink needs from the file system. They form one object, so that a test can make any single call
 * fail.
 */
export interface Files {
  open(path: string): Promise<number>
  close(fd: number): Promise<void>
  /** At the end of the file; all of it, or it rejects. */
  append(fd: number, bytes: Uint8Array): Promise<void>
  read(fd: number, into: Uint8Array, position: number): Promise<number>
  datasync(fd: number): Promise<void>
  truncate(fd: number, length: number): Promise<void>
  stat(fd: number): Promise<FileStats>
  /** What the path names now. */
  find(path: string): Promise<FoundFile>
  syncFolder(path: string): Promise<void>
  makeFolder(path: string): Promise<unknown>
  list(path: string): Promise<string[]>
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  /** Bytes that this process may still write on the disk of that folder. */
  freeBytes(folder: string): Promise<number>
}

interface FileStats {
  readonly size: number
  readonly mtimeMs: number
  /** False for a device or a pipe. */
  readonly isFile: boolean
  readonly identity: string
}

const open = promisify(fs.open)
const fstat = promisify(fs.fstat)

export const realFiles: Files = {
  // Readable too, to find the end of the last whole line.
  open: path => open(path, 'a+', 0o640),
  close: promisify(fs.close),
  append: (fd, bytes) => writeAll(fd, bytes, 'end'),
  async read(fd, into, position) {
    const { bytesRead } = await promisify(fs.read)(fd, into, 0, into.length, position)
    return bytesRead
  },
  datasync: promisify(fs.fdatasync),
  truncate: promisify(fs.ftruncate),
  async stat(fd) {
    const stats = await fstat(fd, { bigint: true })
    const { size, mtimeMs } = stats
    return {
      size: Number(size),
      mtimeMs: Number(mtimeMs),
      isFile: stats.isFile(),
      identity: identityOf(stats),
    }
  },
  find: path =>
    fs.promises.stat(path, { bigint: true }).then(stats => ({ identity: identityOf(stats) }), foundByError),
  syncFolder,
  makeFolder: path => fs.promises.mkdir(path, { recursive: true }),
  list: path => fs.promises.readdir(path),
  rename: fs.promises.rename,
  remove: fs.promises.unlink,
  async freeBytes(folder) {
    const { bavail, bsize } = await fs.promises.statfs(folder)
    return bavail * bsize
  },
}
