import { explained } from '../errors.ts'
import { codeOf, type Files } from './files.ts'
import { type JournalRecord, readLine } from './line.ts'

/** A line in a file of this very name. */
export interface Spot {
  readonly path: string
  readonly offset: number
  readonly length: number
}

/** `gone`: there is no such file any more. `damaged`: the bytes there are no line as it was written. */
type Found = JournalRecord | 'gone' | 'damaged'

/** A file can vanish under a reader only by being rewritten, and that does not happen again and again. */
export const MOST_REREADS = 5

/** Lines that lie so close are read at once, and at most so much. */
const CLOSE_BYTES = 16_384
const MOST_BYTES = 1_048_576

/** Reads many lines with few reads. The answers are in the order of the spots. */
export async function readSpots(files: Files, spots: readonly Spot[]): Promise<Found[]> {
  const found = new Array<Found>(spots.length).fill('gone')
  const byPath = Map.groupBy(spots.keys(), index => spots[index]!.path)
  for (const [path, indexes] of byPath) {
    const inOrder = indexes.sort((a, b) => spots[a]!.offset - spots[b]!.offset)
    try {
      await readFrom(files, path, inOrder, spots, found)
    } catch (error) {
      throw explained('reading', path, error)
    }
  }
  return found
}

async function readFrom(
  files: Files,
  path: string,
  indexes: readonly number[],
  spots: readonly Spot[],
  found: Found[],
): Promise<void> {
  let fd: number
  try {
    fd = await files.open(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  try {
    for (const run of runsOf(indexes, spots)) {
      const start = spots[run[0]!]!.offset
      const { offset, length } = spots[run.at(-1)!]!
      const bytes = Buffer.allocUnsafe(offset + length - start)
      const read = await files.read(fd, bytes, start)
      for (const index of run) {
        const at = spots[index]!.offset - start
        const line = bytes.subarray(0, read).subarray(at, at + spots[index]!.length)
        found[index] = readLine(line) ?? 'damaged'
      }
    }
  } finally {
    await files.close(fd)
  }
}

function runsOf(indexes: readonly number[], spots: readonly Spot[]): number[][] {
  const runs: number[][] = []
  for (const index of indexes) {
    const { offset, length } = spots[index]!
    const run = runs.at(-1)
    const first = run && spots[run[0]!]!
    const last = run && spots[run.at(-1)!]!
    const isClose =
      first !== undefined &&
      last !== undefined &&
      offset - (last.offset + last.length) <= CLOSE_BYTES &&
      offset + length - first.offset <= MOST_BYTES
    if (isClose) run!.push(index)
    else runs.push([index])
  }
  return runs
}
