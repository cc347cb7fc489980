import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Journal } from '../journal/journal.ts'
import type { JournalRecord } from '../journal/line.ts'
import { MOST_REREADS, readSpots, type Spot } from '../journal/read-spots.ts'
import { UnreadableError } from '../journal/segment-set.ts'
import type { LetterIndex } from './facts.ts'

/** Makes a letter of its record, wholly or as far as is needed; undefined when it is not wanted. */
export type ReadRecord = (record: JournalRecord) => DeadLetter | undefined

/**
 * The letters of some ids, in the same order; undefined for one that is not there or cannot be read any more. The
 * latter is reported, and leaves the index: what is listed and counted is what can be had.
 */
export async function readLetters(
  journal: Journal,
  index: LetterIndex,
  read: ReadRecord,
  ids: readonly string[],
): Promise<(DeadLetter | undefined)[]> {
  const letters = new Array<DeadLetter | undefined>(ids.length).fill(undefined)
  let wanted: readonly number[] = [...ids.keys()]
  for (let rereads = 0; wanted.length > 0; rereads++) {
    if (rereads > MOST_REREADS) throw new Error(`files vanish from ${journal.folder.dir} while they are read`)
    const spots = wanted.flatMap(at => spotOf(journal, index, ids[at]!, at) ?? [])
    const found = await readSpots(journal.files, spots)
    for (const [which, spot] of spots.entries()) {
      const record = found[which]!
      if (record !== 'gone') letters[spot.at] = readOne(journal, index, read, spot, record)
    }
    wanted = spots.filter((_, which) => found[which] === 'gone').map(({ at }) => at)
    if (wanted.length > 0) await journal.reread()
  }
  return letters
}

function readOne(
  journal: Journal,
  index: LetterIndex,
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
  forget(journal, index, spot)
  return undefined
}

/** Unless it was told again in the meantime: then it is elsewhere, and whole. */
function forget(journal: Journal, index: LetterIndex, spot: LetterSpot): void {
  const segment = journal.segments.find(spot.segment)
  if (segment !== undefined) segment.isDamaged = true
  const now = spotOf(journal, index, spot.id, spot.at)
  if (now?.path === spot.path && now.offset === spot.offset) index.forget(spot.id)
}

interface LetterSpot extends Spot {
  readonly id: string
  readonly segment: number
  /** Which of the ids asked for it is. */
  readonly at: number
}

function spotOf(journal: Journal, index: LetterIndex, id: string, at: number): LetterSpot | undefined {
  const place = index.placeOf(id)
  return place && { ...place, id, at, path: journal.pathOf(place.segment) }
}
