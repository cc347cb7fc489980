import { type Examined, examineLetters, splitFilter } from '../../adapter-kit/query/examined-letters.ts'
import {
  examinedMatcher,
  letterMatcher,
  resolveLetterQuery,
  splitDisclosing,
} from '../../adapter-kit/query/letter-query.ts'
import { LetterStatsCounter } from '../../adapter-kit/query/letter-stats.ts'
import { masksOfLetter } from '../../core/dead-letter/event-masks.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { maskEvent, maskFacts } from '../../core/dead-letter/mask-letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { ReplayPatches } from '../../operations/replay-patches.ts'
import type { DeadLetterStore, LetterFilter, LetterQuery, LetterStats } from '../../ports/dead-letters.ts'
import type { Replays } from '../../ports/replays.ts'
import { counted } from '../stores/search-stats.ts'

/** One request reads at most this many letters, whatever it finds, and then returns a cursor. Masking takes most of the time. */
const MAX_MASKED = 2_000
/** The same for a caller who may see the letters as they are. */
const MAX_EXAMINED = 5_000

interface SearchedStore {
  readonly deadLetters: Pick<DeadLetterStore, 'list'>
  readonly replays: Pick<Replays, 'get'>
}

interface Search {
  readonly filter: LetterFilter
  readonly masks: Masks
  /** The caller may not reveal payloads, so only masked text is compared. */
  readonly isMasked: boolean
}

type Page = Pick<LetterQuery, 'cursor' | 'sort' | 'order' | 'startAt'> & {
  readonly limit: number
  readonly count?: (letter: DeadLetter) => void
}

/**
 * Lists the letters that match a filter for which no index can be used: because no store has one for its fields, or because
 * the caller may only search masked text. The search of a store is not used for masked text, because its results and its
 * duration depend on masked values. This one depends only on what the caller may see.
 */
export async function listExaminedFor(
  { deadLetters, replays }: SearchedStore,
  { filter, masks, isMasked }: Search,
  { limit, count, ...asked }: Page,
): Promise<Examined> {
  const { order, startAfter } = resolveLetterQuery({ ...filter, ...asked })
  const page = { limit, count, order, startAfter }
  if (isMasked) {
    const { rest, disclosing } = splitDisclosing(filter)
    const { indexed, examined } = splitFilter(rest)
    const matchesPlain = examinedMatcher(examined)
    const matchesShown = letterMatcher(disclosing)
    // Masking a payload takes longer than masking texts, and only conditions look at it.
    const isWhole = disclosing.where !== undefined
    const patches = new ReplayPatches(replays, masks)
    const matches = (letter: DeadLetter) =>
      matchesPlain(letter) && matchesShown(maskedLetter(letter, patches.masks, isWhole))
    const list: DeadLetterStore['list'] = async query => {
      const listed = await deadLetters.list(query)
      await patches.read(listed.letters)
      return listed
    }
    return examineLetters({ list }, { indexed, matches, ...page, mostRead: MAX_MASKED })
  }
  const { indexed, examined } = splitFilter(filter)
  const matches = examinedMatcher(examined)
  return examineLetters(deadLetters, { indexed, matches, ...page, mostRead: MAX_EXAMINED })
}

/** The counts of those letters, within the limit of one request. */
export async function statsExaminedFor(store: SearchedStore, search: Search): Promise<LetterStats> {
  const counter = new LetterStatsCounter()
  const count = (letter: DeadLetter) => counter.addLetter(letter)
  const { lookedUntil } = await listExaminedFor(store, search, { limit: Number.POSITIVE_INFINITY, count })
  return counted(counter, lookedUntil === undefined)
}

/** The letter with its searched fields in masked form, as the caller is shown it. */
function maskedLetter(letter: DeadLetter, masks: Masks, isWhole: boolean): DeadLetter {
  const { event, cycle, metadata } = letter
  const { failure } = cycle
  const own = masksOfLetter(letter, masks)
  const textOf = (text: string | undefined) => (text === undefined ? undefined : own.maskText(text))
  return {
    ...letter,
    event: { ...(isWhole ? maskedEvent(event, masks, own) : event), key: textOf(event.key) },
    metadata: metadata && maskFacts('metadata', metadata, own),
    cycle: {
      ...cycle,
      failure: failure && {
        ...failure,
        name: own.maskText(failure.name),
        message: own.maskText(failure.message),
        code: textOf(failure.code),
      },
    },
  }
}

/** Masked headers that are not a record, because a mask hides them whole, have no fields. */
function maskedEvent(event: LazaretEvent, masks: Masks, own: Masks): LazaretEvent {
  const { headers, payload } = maskEvent(event, masks, own)
  const isRecord = typeof headers === 'object' && headers !== null && !Array.isArray(headers)
  return {
    ...event,
    headers: isRecord ? (headers as Record<string, string>) : {},
    payload: payload ?? null,
  }
}
