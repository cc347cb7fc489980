import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { syncFolder, writeAll } from '../../../adapter-kit/file-system.ts'
import { identityOf } from '../../../adapter-kit/opened-file.ts'

/**
 * The operations that the journal needs from the file system. All of them run off the event loop. They form one object,
 * so that a test can make any single call fail.
 */
export interface Files {
  open(path: string, flags: number | string): Promise<number>
  close(fd: number): Promise<void>
  /** Reads as many bytes as the file has. It returns fewer than requested only at the end of the file. */
  read(fd: number, into: Uint8Array, position: number): Promise<number>
  /** Writes all bytes, or rejects. */
  write(fd: number, bytes: Uint8Array, position: number): Promise<void>
  /** Resolves when the bytes of the file are on the disk and not only in memory. */
  datasync(fd: number): Promise<void>
  /** Resolves when the names in the folder are on the disk. */
  syncFolder(path: string): Promise<void>
  truncate(fd: number, length: number): Promise<void>
  size(fd: number): Promise<number>
  sizeOf(path: string): Promise<number>
  link(existing: string, path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  makeFolder(path: string): Promise<string | undefined>
  /** Makes a folder without its parents. Returns false if there is one. */
  makeSubfolder(path: string): Promise<boolean>
  /** Removes the folder only if it is empty. */
  removeFolder(path: string): Promise<void>
  /** The names in a folder; empty if the folder does not exist. */
  list(path: string): Promise<string[]>
  /** The identity of a file or folder, which a rename and a write keep. */
  identify(path: string): Promise<string>
  /** The identity of a file and its last change of any kind, with its links. */
  mark(path: string): Promise<string>
}

/** The files contain payloads, so only their owner may read them. Existing files keep their mode. */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

const open = promisify(fs.open)
const read = promisify(fs.read)
const fstat = promisify(fs.fstat)

export const realFiles: Files = {
  open: (path, flags) => open(path, flags, FILE_MODE),
  close: promisify(fs.close),
  async read(fd, into, position) {
    let count = 0
    while (count < into.length) {
      const { bytesRead } = await read(fd, into, count, into.length - count, position + count)
      if (bytesRead === 0) break
      count += bytesRead
    }
    return count
  },
  write: writeAll,
  datasync: promisify(fs.fdatasync),
  syncFolder,
  truncate: promisify(fs.ftruncate),
  size: async fd => (await fstat(fd)).size,
  sizeOf: async path => (await fs.promises.stat(path)).size,
  link: fs.promises.link,
  rename: fs.promises.rename,
  remove: fs.promises.unlink,
  makeFolder: path => fs.promises.mkdir(path, { recursive: true, mode: FOLDER_MODE }),
  makeSubfolder: async path =>
    (await ignoringCode('EEXIST', () => fs.promises.mkdir(path, { mode: FOLDER_MODE }).then(() => true))) ??
    false,
  removeFolder: fs.promises.rmdir,
  list: async path => (await ignoringCode('ENOENT', () => fs.promises.readdir(path))) ?? [],
  identify: async path => identityOf(await fs.promises.stat(path, { bigint: true })),
  async mark(path) {
    const { dev, ino, ctimeNs } = await fs.promises.stat(path, { bigint: true })
    return `${dev}:${ino}:${ctimeNs}`
  },
}

export async function readWhole(files: Files, path: string): Promise<Buffer> {
  const fd = await files.open(path, 'r')
  try {
    const bytes = Buffer.allocUnsafe(await files.size(fd))
    return bytes.subarray(0, await files.read(fd, bytes, 0))
  } finally {
    await files.close(fd)
  }
}

/** The system code of an error, such as ENOENT. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/** Runs the work and ignores errors with this code. */
export async function ignoringCode<T>(code: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (codeOf(error) === code) return undefined
    throw error
  }
}

/** Creates a folder in the folder of a store durably. The store may have been moved away: then it is not made again. */
export async function makeSubfolder(files: Files, path: string): Promise<void> {
  if (await files.makeSubfolder(path)) await files.syncFolder(dirname(path))
}

/** Creates the folder and its parents durably. Otherwise a power failure could remove a new folder with its content. */
export async function makeFolder(files: Files, path: string): Promise<void> {
  const first = await files.makeFolder(path)
  if (first === undefined) return
  for (let folder = path; ; folder = dirname(folder)) {
    await files.syncFolder(dirname(folder))
    if (folder === first || folder === dirname(folder)) return
  }
}
