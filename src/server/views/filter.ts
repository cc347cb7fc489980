import type { Reason } from '../../core/dead-letter/reason.ts'
import { givenFields } from '../../core/options/merge.ts'
import type { LetterFilter } from '../../ports/dead-letters.ts'
import { isoOr } from '../schema/common.ts'
import { type LetterFilter as FilterJson, letterFilter } from '../schema/letters.ts'
import { pick } from './pick.ts'

const NAMES = Object.keys(letterFilter.shape) as (keyof FilterJson)[]

/** Converts a filter of the API to one of the store. Other fields are dropped. */
export function toLetterFilter(asked: FilterJson): LetterFilter {
  const { after, before, reason, ...same } = pick(asked, ...NAMES)
  const filter = {
    ...same,
    // A newer writer may know more reasons than this version.
    reason: reason as Reason | undefined,
    after: after === undefined ? undefined : Date.parse(after),
    before: before === undefined ? undefined : Date.parse(before),
  }
  return givenFields(filter)
}

export function fromLetterFilter(filter: LetterFilter): FilterJson {
  const told = { ...filter, after: isoOr(filter.after), before: isoOr(filter.before) }
  return givenFields(told)
}
