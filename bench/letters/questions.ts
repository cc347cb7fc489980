import { type LetterOrder, NEWEST_FIRST, orderOf } from '../../src/adapter-kit/query/letter-order.ts'
import { letterCursor, resolveLetterFilter } from '../../src/adapter-kit/query/letter-query.ts'
import { MAX_COUNTED } from '../../src/operations/max-counted.ts'
import {
  type DeadLetterStore,
  LETTER_SORTS,
  type LetterFilter,
  type LetterQuery,
  SORT_DIRECTIONS,
} from '../../src/ports/dead-letters.ts'

/** The rows of a page of the console. */
const LIMIT = 200
const DAY_MS = 86_400_000

/** A question about letters, as a person or the console asks it. */
export interface Question {
  readonly name: string
  readonly kind: 'page' | 'count'
  ask(): Promise<unknown>
}

interface Ends {
  readonly oldestAt: number
  readonly newestAt: number
}

/** Filters that people use, from one that matches every letter to one that matches a few dozen, or none. */
export async function filtersOf(store: DeadLetterStore): Promise<Readonly<Record<string, LetterFilter>>> {
  const { letters } = await store.list({ limit: 1 })
  const { channel, handler, event, cycle, state } = letters[0]!
  const { type } = event
  const { lastFailedAt: newestAt, category, reason } = cycle
  const day = { after: newestAt - 15 * DAY_MS, before: newestAt - 14 * DAY_MS }
  const large = await largestGroup(store)
  return {
    all: {},
    'a channel': { channel },
    'a handler': { handler },
    'a type': { type },
    'a reason': { reason },
    'a category': { category },
    'a state': { state },
    'the largest group': { group: large },
    'a day': day,
    'a category and a day': { category, ...day },
    'a handler and fifteen days': { handler, after: newestAt - 15 * DAY_MS },
    'a channel and a state': { channel, state },
    'all fields of one letter': { channel, handler, type, reason, category, state },
    'a channel and a handler that it does not have': { channel, handler: 'nobody' },
  }
}

async function largestGroup(store: DeadLetterStore): Promise<string> {
  const { letters } = await store.list({ limit: 200 })
  const groups = Map.groupBy(letters, ({ cycle }) => cycle.failure!.fingerprint.id)
  return [...groups].sort(([, a], [, b]) => b.length - a.length)[0]![0]
}

/** Pages at the beginning, in the middle and at the end, for every filter; then every order. */
export async function questionsOf(store: DeadLetterStore): Promise<Question[]> {
  const filters = await filtersOf(store)
  const [newest] = (await store.list({ limit: 1 })).letters
  const ends = { newestAt: newest!.cycle.lastFailedAt, oldestAt: newest!.cycle.lastFailedAt - 29.9 * DAY_MS }
  const questions: Question[] = []
  for (const [name, filter] of Object.entries(filters)) {
    for (const [depth, share] of Object.entries({ 'first page': 0, 'middle page': 0.5, 'last page': 1 }))
      questions.push({
        name: `${name}, ${depth}`,
        kind: 'page',
        ask: () => store.list(pageAt(filter, NEWEST_FIRST, share, ends)),
      })
    questions.push({
      name: `${name}, counts`,
      kind: 'count',
      ask: () => store.stats(filter, { stopAt: MAX_COUNTED }),
    })
  }
  for (const sort of LETTER_SORTS)
    for (const direction of SORT_DIRECTIONS) {
      const order = orderOf({ sort, order: direction })
      for (const name of ['all', 'a channel', 'the largest group', 'a category and a day'] as const)
        for (const [depth, share] of Object.entries({ 'first page': 0, 'middle page': 0.5 }))
          questions.push({
            name: `${name} by ${sort} ${direction}, ${depth}`,
            kind: 'page',
            ask: () => store.list(pageAt(filters[name]!, order, share, ends)),
          })
    }
  return questions
}

const MIDDLE: Readonly<Record<string, string | number>> = {
  attempts: 3,
  channel: 'channel-14',
  handler: 'handler-2',
  type: 'type.5',
  reason: 'permanent',
  category: 'transient',
  state: 'quarantined',
  group: '8',
}

/** A cursor names a place, so a page at any depth can be asked for without the pages before it. */
function pageAt(filter: LetterFilter, order: LetterOrder, share: number, ends: Ends): LetterQuery {
  const { sort, isDescending } = order
  const query = { ...filter, sort, order: isDescending ? 'desc' : 'asc', limit: LIMIT } as const
  if (share === 0) return query
  const newestAt = Math.min(ends.newestAt, filter.before ?? ends.newestAt)
  const oldestAt = Math.max(ends.oldestAt, filter.after ?? ends.oldestAt)
  const lastFailedAt = Math.floor(newestAt - share * (newestAt - oldestAt))
  const value = sort === 'lastFailed' ? undefined : sort === 'firstFailed' ? lastFailedAt : MIDDLE[sort]!
  const place = value === undefined ? { lastFailedAt, id: '~' } : { lastFailedAt, id: '~', value }
  return { ...query, cursor: letterCursor(place, resolveLetterFilter(filter), order) }
}
