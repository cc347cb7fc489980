import type { Reason } from '../../core/dead-letter/reason.ts'
import { givenFields } from '../../core/options/merge.ts'
import type { LetterFilter } from '../../ports/dead-letters.ts'
import { isoOr } from '../schema/common.ts'
import type { LetterFilter as FilterJson } from '../schema/letters.ts'

/** Converts a filter of the API to one of the store. Other fields are dropped. */
export function toLetterFilter(asked: FilterJson): LetterFilter {
  const { channel, handler, type, reason, category, state, group, search, after, before } = asked
  const filter = {
    channel,
    handler,
    type,
    // A newer writer may know more reasons than this version.
    reason: reason as Reason | undefined,
    category,
    state,
    group,
    after: after === undefined ? undefined : Date.parse(after),
    before: before === undefined ? undefined : Date.parse(before),
    search,
  }
  return givenFields(filter)
}

export function fromLetterFilter(filter: LetterFilter): FilterJson {
  const told = { ...filter, after: isoOr(filter.after), before: isoOr(filter.before) }
  return givenFields(told)
}
