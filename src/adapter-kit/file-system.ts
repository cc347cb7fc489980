import * as fs from 'node:fs'
import { promisify } from 'node:util'

const open = promisify(fs.open)
const close = promisify(fs.close)
const write = promisify(fs.write)
const fsync = promisify(fs.fsync)
const fstat = promisify(fs.fstat)
const read = promisify(fs.read)

const NEWLINE = 10

/** Writes all of the bytes at a position, or at the end of a file that is open for appending. */
export async function writeAll(fd: number, bytes: Uint8Array, position: number | 'end'): Promise<void> {
  for (let count = 0; count < bytes.length; ) {
    const at = position === 'end' ? null : position + count
    const { bytesWritten } = await write(fd, bytes, count, bytes.length - count, at)
    count += bytesWritten
  }
}

/**
 * The descriptor of standard output or standard error, if it leads to a file. Node writes such a stream with one call of
 * the system and does not look at how much was taken, so text that a full disk did not take is lost without an error:
 * use `writeAll` with the descriptor. Undefined for pipes, terminals and all other streams, which report what they lose.
 */
export function fileBehind(stream: object): number | undefined {
  const { fd } = stream as { readonly fd?: unknown }
  if (fd !== process.stdout.fd && fd !== process.stderr.fd) return undefined
  try {
    return fs.fstatSync(fd).isFile() ? fd : undefined
  } catch {
    return undefined
  }
}

/** Whether an open file ends within a line. False also where the system does not tell. */
export async function endsWithinLine(fd: number): Promise<boolean> {
  const { size } = await fstat(fd)
  if (size === 0) return false
  try {
    // A shell opens the file of `service >> out.log` for writing alone, so it is opened again.
    const reader = await open(`/dev/fd/${fd}`, 'r')
    try {
      const last = Buffer.alloc(1)
      const { bytesRead } = await read(reader, last, 0, 1, size - 1)
      return bytesRead === 1 && last[0] !== NEWLINE
    } finally {
      await close(reader)
    }
  } catch {
    return false
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
