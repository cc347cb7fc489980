import * as fs from 'node:fs'
import { promisify } from 'node:util'

const open = promisify(fs.open)
const close = promisify(fs.close)
const write = promisify(fs.write)
const fsync = promisify(fs.fsync)

/** Writes all of the bytes at a position, or at the end of a file that is open for appending. */
export async function writeAll(fd: number, bytes: Uint8Array, position: number | 'end'): Promise<void> {
  for (let count = 0; count < bytes.length; ) {
    const at = position === 'end' ? null : position + count
    const { bytesWritten } = await write(fd, bytes, count, bytes.length - count, at)
    count += bytesWritten
  }
}

/** Resolves when the names in a folder are on the disk. */
export async function syncFolder(path: string): Promise<void> {
  // Windows makes names durable by itself, and does not allow opening a folder.
  if (process.platform === 'win32') return
  const fd = await open(path, 'r')
  try {
    await fsync(fd)
  } finally {
    await close(fd)
  }
}
