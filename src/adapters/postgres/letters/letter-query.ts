import type { LetterPosition } from '../../../adapter-kit/query/letter-order.ts'
import type { LetterFilter } from '../../../ports/dead-letters.ts'
import type { Conditions } from '../connection/conditions.ts'
import { asTime, storableText, timeParameter } from '../connection/values.ts'
import { searchable } from './letter-table.ts'

export const FILTER_COLUMNS = {
  channel: 'channel',
  handler: 'handler',
  type: 'type',
  reason: 'reason',
  category: 'category',
  state: 'state',
  group: 'group_id',
} as const

/** The facet of a letter `d`, as the indexes of facets have it. */
export const FACET =
  'lazaret.letter_facet(d.channel, d.handler, d.type, d.reason, d.category, d.state, d.group_id, d.attempts)'

/** The most characters of a search that LIKE compares. */
const LONGEST_PATTERN = 64

/** Adds a filter (adapter-kit/query/letter-query) as SQL conditions. */
export function addFilter(conditions: Conditions, filter: LetterFilter): Conditions {
  addTimes(addFields(conditions, filter), filter)
  if (filter.search !== undefined) addSearch(conditions, searchable(filter.search))
  return conditions
}

/** An index of trigrams answers LIKE, which takes very long for some long patterns. Of a long text it compares the start. */
function addSearch(conditions: Conditions, text: string): void {
  const start = [...text].slice(0, LONGEST_PATTERN).join('')
  conditions.add(containing(start), parameter => `search like $${parameter}::text`)
  if (start !== text) conditions.add(text, parameter => `position($${parameter}::text in search) > 0`)
}

/** The pattern of texts that have this one in them. */
function containing(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
}

/** The part of a filter that a facet answers. */
export function addFields(conditions: Conditions, filter: LetterFilter): Conditions {
  for (const [field, column] of Object.entries(FILTER_COLUMNS)) {
    const wanted = filter[field as keyof typeof FILTER_COLUMNS]
    conditions.equal(column, wanted && storableText(wanted))
  }
  return conditions
}

export function addTimes(conditions: Conditions, { after, before }: LetterFilter): Conditions {
  if (after !== undefined)
    conditions.add(timeParameter(after), parameter => `last_failed_at >= ${asTime(parameter)}`)
  if (before !== undefined)
    conditions.add(timeParameter(before), parameter => `last_failed_at < ${asTime(parameter)}`)
  return conditions
}

/** Adds the condition that a letter comes after this one in the list. */
export function addPlace(conditions: Conditions, { lastFailedAt, id }: LetterPosition): Conditions {
  const at = conditions.values.push(timeParameter(lastFailedAt))
  return conditions.add(
    id,
    parameter => `(last_failed_at, id) < (${asTime(at)}, $${parameter}::text collate "C")`,
  )
}
