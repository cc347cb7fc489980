import { writeSync } from 'node:fs'

/** Writes a line to the standard output before it returns. A pipe that its reader has not emptied yet is tried again. */
export function writeLine(line: string): void {
  for (let left = Buffer.from(`${line}\n`); left.length > 0; ) {
    try {
      left = left.subarray(writeSync(1, left))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}
