import { toStoreError } from '../errors.ts'
import { codeOf, type Files } from './files.ts'
import { type JournalRecord, readLine } from './line.ts'

/** A line in a file of exactly this name. */
export interface FileRange {
  readonly path: string
  readonly offset: number
  readonly length: number
}

/** `gone`: the file no longer exists. `damaged`: the bytes differ from what was written. */
type ReadResult = JournalRecord | 'gone' | 'damaged'

/** A file disappears only when it is rewritten, and that does not happen many times in a row. */
export const MAX_REREADS = 5

/** Lines at most this far apart are read together, up to the second limit. */
const CLOSE_BYTES = 16_384
const MAX_BYTES = 1_048_576

/** Reads many lines with few reads. The results are in the order of the ranges. */
export async function readRanges(files: Files, ranges: readonly FileRange[]): Promise<ReadResult[]> {
  const found = new Array<ReadResult>(ranges.length).fill('gone')
  const byPath = Map.groupBy(ranges.keys(), index => ranges[index]!.path)
  for (const [path, indexes] of byPath) {
    const inOrder = indexes.sort((a, b) => ranges[a]!.offset - ranges[b]!.offset)
    try {
      await readFrom(files, path, inOrder, ranges, found)
    } catch (error) {
      throw toStoreError('reading', path, error)
    }
  }
  return found
}

async function readFrom(
  files: Files,
  path: string,
  indexes: readonly number[],
  ranges: readonly FileRange[],
  found: ReadResult[],
): Promise<void> {
  let fd: number
  try {
    fd = await files.open(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  try {
    for (const run of runsOf(indexes, ranges)) {
      const start = ranges[run[0]!]!.offset
      const { offset, length } = ranges[run.at(-1)!]!
      const bytes = Buffer.allocUnsafe(offset + length - start)
      const read = await files.read(fd, bytes, start)
      for (const index of run) {
        const at = ranges[index]!.offset - start
        const line = bytes.subarray(0, read).subarray(at, at + ranges[index]!.length)
        found[index] = readLine(line) ?? 'damaged'
      }
    }
  } finally {
    await files.close(fd)
  }
}

function runsOf(indexes: readonly number[], ranges: readonly FileRange[]): number[][] {
  const runs: number[][] = []
  for (const index of indexes) {
    const { offset, length } = ranges[index]!
    const run = runs.at(-1)
    const first = run && ranges[run[0]!]!
    const last = run && ranges[run.at(-1)!]!
    const isClose =
      first !== undefined &&
      last !== undefined &&
      offset - (last.offset + last.length) <= CLOSE_BYTES &&
      offset + length - first.offset <= MAX_BYTES
    if (isClose) run!.push(index)
    else runs.push([index])
  }
  return runs
}
