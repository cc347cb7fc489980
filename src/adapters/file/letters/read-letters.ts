import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Journal } from '../journal/journal.ts'
import type { JournalRecord } from '../journal/line.ts'
import { MOST_REREADS, readSpots, type Spot } from '../journal/read-spots.ts'
import { UnreadableError } from '../journal/segment-set.ts'
import type { LetterTable } from './letter-table.ts'

/** Makes a letter of its record, wholly or as far as is needed; undefined when it is not wanted. */
export type ReadRecord = (record: JournalRecord) => DeadLetter | undefined

/**
 * The letters of some ids, in the same order; undefined for one that is not there or cannot be read any more. The
 * latter is reported, and leaves the index: what is listed and counted is what can be had.
 */
export async function readLetters(
  journal: Journal,
  table: LetterTable,
  read: ReadRecord,
  ids: readonly string[],
): Promise<(DeadLetter | undefined)[]> {
  const letters = new Array<DeadLetter | undefined>(ids.length).fill(undefined)
  let wanted: readonly number[] = [...ids.keys()]
  for (let rereads = 0; wanted.length > 0; rereads++) {
    if (rereads > MOST_REREADS) throw new Error(`files vanish from ${journal.folder.dir} while they are read`)
    const spots = wanted.flatMap(at => spotOf(journal, table, ids[at]!, at) ?? [])
    const found = await readSpots(journal.files, spots)
    for (const [index, spot] of spots.entries()) {
      const record = found[index]!
      if (record !== 'gone') letters[spot.at] = readOne(journal, table, read, spot, record)
    }
    wanted = spots.filter((_, index) => found[index] === 'gone').map(({ at }) => at)
    if (wanted.length > 0) await journal.reread()
  }
  return letters
}

function readOne(
  journal: Journal,
  table: LetterTable,
  read: ReadRecord,
  spot: LetterSpot,
  record: JournalRecord | 'damaged',
): DeadLetter | undefined {
  const { path, offset, length: bytes } = spot
  try {
    if (record !== 'damaged') {
      const letter = read(record)
      if (letter === undefined || letter.id === spot.id) return letter
    }
    journal.damage.add({ kind: 'checksum', path, offset, bytes })
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    journal.damage.add({ kind: 'unreadable', path, offset, bytes, error: error.cause })
  }
  forget(journal, table, spot)
  return undefined
}

/** Unless it was told again in the meantime: then it is elsewhere, and whole. */
function forget(journal: Journal, table: LetterTable, spot: LetterSpot): void {
  const segment = journal.segments.find(spot.segment)
  if (segment !== undefined) segment.isDamaged = true
  const now = spotOf(journal, table, spot.id, spot.at)
  const row = table.index.find(spot.id)
  if (row !== undefined && now?.path === spot.path && now.offset === spot.offset) table.index.remove(row)
}

interface LetterSpot extends Spot {
  readonly id: string
  readonly segment: number
  /** Which of the ids asked for it is. */
  readonly at: number
}

function spotOf(journal: Journal, table: LetterTable, id: string, at: number): LetterSpot | undefined {
  const row = table.index.find(id)
  if (row === undefined) return undefined
  const place = table.index.placeOf(row)
  return { ...place, id, at, path: journal.pathOf(place.segment) }
}
