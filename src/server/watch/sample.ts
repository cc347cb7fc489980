import { groupingOf } from '../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { LetterState } from '../../core/dead-letter/state.ts'
import type { DeadLetterStore, LetterFilter } from '../../ports/dead-letters.ts'
import type { ChannelSnapshot, ErrorShare } from '../../ports/snapshots.ts'

const MOST_ERRORS = 5
const PAGE = 200
const NAME_LENGTH = 200

export type Sample = Pick<ChannelSnapshot, 'averageRetries' | 'sampled' | 'errors'>

export const NO_SAMPLE: Sample = Object.freeze({ averageRetries: 0, sampled: 0, errors: [] })

/** How many letters of a state wait in a channel. */
export interface Held {
  readonly state: LetterState
  readonly count: number
}

/** Looks at the newest of those that wait in a channel, about so many, of each state its share. */
export async function takeSample(
  letters: DeadLetterStore,
  channel: string,
  held: readonly Held[],
  most: number,
): Promise<Sample> {
  const total = held.reduce((sum, { count }) => sum + count, 0)
  const found: DeadLetter[] = []
  for (const { state, count } of held) {
    const share = Math.ceil((count * Math.min(most, total)) / total)
    found.push(...(await newest(letters, { channel, state }, share)))
  }
  return sampleOf(found)
}

/** Page by page, so that reading them does not hold up whoever else is answered. */
async function newest(
  letters: DeadLetterStore,
  filter: LetterFilter,
  most: number,
): Promise<readonly DeadLetter[]> {
  const found: DeadLetter[] = []
  let cursor: string | undefined
  do {
    const page = await letters.list({ ...filter, cursor, limit: Math.min(PAGE, most - found.length) })
    found.push(...page.letters)
    cursor = page.cursor
  } while (cursor !== undefined && found.length < most)
  return found
}

function sampleOf(letters: readonly DeadLetter[]): Sample {
  if (letters.length === 0) return NO_SAMPLE
  const retries = letters.reduce((sum, letter) => sum + retriesOf(letter), 0)
  return {
    averageRetries: Math.round((retries / letters.length) * 100) / 100,
    sampled: letters.length,
    errors: errorsOf(letters),
  }
}

/** Over all lives of the event that are known: a replay that failed was another try. */
function retriesOf({ cycle, endedCycles }: DeadLetter): number {
  const attempts = endedCycles.reduce((sum, ended) => sum + ended.attemptCount, cycle.attemptCount)
  return Math.max(0, attempts - 1)
}

/** By the groups that the letters belong to; one that no attempt was made of is named by its reason. */
function errorsOf(letters: readonly DeadLetter[]): readonly ErrorShare[] {
  const errors = new Map<string, ErrorShare>()
  for (const letter of letters) {
    const { id, title } = groupingOf(letter)
    const known = errors.get(id)
    const name = known?.name ?? (letter.cycle.failure?.name ?? title).slice(0, NAME_LENGTH)
    errors.set(id, { fingerprint: id, name, count: (known?.count ?? 0) + 1 })
  }
  return [...errors.values()]
    .sort((a, b) => b.count - a.count || (a.fingerprint < b.fingerprint ? -1 : 1))
    .slice(0, MOST_ERRORS)
}
