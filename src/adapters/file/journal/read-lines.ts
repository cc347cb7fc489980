import type { Files } from './files.ts'
import { NEWLINE } from './line.ts'

/** Read at once, and so looked at without a pause: small enough that nobody else waits long for the event loop. */
const CHUNK_BYTES = 65_536

/**
 * Shows every whole line from there on, without its newline, and where it begins. The bytes are good during the call
 * only. Answers where the last whole line ends, and how many bytes there are behind it.
 */
export async function readLines(
  files: Files,
  path: string,
  from: number,
  visit: (line: Buffer, offset: number) => void,
): Promise<{ readonly end: number; readonly tornBytes: number }> {
  const fd = await files.open(path, 'r')
  try {
    let buffer: Buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    let kept = 0
    let end = from
    for (;;) {
      const read = await files.read(fd, buffer.subarray(kept), end + kept)
      if (read === 0) return { end, tornBytes: kept }
      const filled = buffer.subarray(0, kept + read)
      const shown = showLines(filled, end, visit)
      end += shown
      kept = filled.length - shown
      const next = roomFor(kept, buffer)
      filled.copy(next, 0, shown)
      buffer = next
    }
  } finally {
    await files.close(fd)
  }
}

/** A line longer than the buffer needs a larger one; behind it, the usual size will do again. */
function roomFor(kept: number, buffer: Buffer): Buffer {
  if (kept === buffer.length) return Buffer.allocUnsafe(buffer.length * 2)
  return kept < CHUNK_BYTES && buffer.length > CHUNK_BYTES ? Buffer.allocUnsafe(CHUNK_BYTES) : buffer
}

function showLines(filled: Buffer, offset: number, visit: (line: Buffer, offset: number) => void): number {
  let start = 0
  for (let newline = filled.indexOf(NEWLINE); newline !== -1; newline = filled.indexOf(NEWLINE, start)) {
    visit(filled.subarray(start, newline), offset + start)
    start = newline + 1
  }
  return start
}
