import { firstFailedAt } from '../../../adapter-kit/query/letter-order.ts'
import { type ResolvedLetterFilter, searchedTexts } from '../../../adapter-kit/query/letter-query.ts'
import { groupTextsAtRest } from '../../../adapter-kit/sealed/groups.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { TextCodec } from '../../../ports/codec.ts'

/** Separates the searchable texts. No search contains it. */
const SEPARATOR = '\u0000\u0001'

/**
 * The facts of a letter that scripts need, because a sealed letter cannot be read there. They are in the order in which
 * `save` reads them.
 */
export function factsOf(letter: DeadLetter, texts: TextCodec | undefined): string[] {
  const { channel, handler, event, state, cycle, replays } = letter
  const { id, title, rule, basis } = groupTextsAtRest(letter, texts)
  return [
    channel,
    handler,
    event.type,
    cycle.reason,
    cycle.category,
    state,
    id,
    String(cycle.lastFailedAt),
    String(firstFailedAt(letter)),
    replays > 0 ? '1' : '',
    searchTextOf(letter, texts !== undefined),
    title,
    rule,
    basis,
    String(cycle.attemptCount),
  ]
}

function searchTextOf(letter: DeadLetter, isSealed: boolean): string {
  return searchedTexts(letter, isSealed)
    .filter(text => text !== undefined)
    .join(SEPARATOR)
    .toLowerCase()
}

/** A filter as scripts read it. */
export interface ScanFilter {
  /** The fields that a facet must have: field, value, field, value. */
  readonly fields: readonly string[]
  readonly after: string
  readonly before: string
  readonly search: string
}

/** The names of fields in scripts. */
export const FIELD_NAMES = {
  group: 'g',
  type: 't',
  channel: 'c',
  state: 's',
  handler: 'h',
  reason: 'r',
  category: 'y',
  attempts: 'a',
} as const

export function scanFilterOf(filter: ResolvedLetterFilter): ScanFilter {
  const fields = Object.entries(FIELD_NAMES).flatMap(([name, field]) => {
    const value =
      name === 'attempts' ? undefined : filter[name as Exclude<keyof typeof FIELD_NAMES, 'attempts'>]
    return value === undefined ? [] : [field, value]
  })
  return {
    fields,
    after: filter.after === undefined ? '' : String(filter.after),
    before: filter.before === undefined ? '' : String(filter.before),
    search: filter.search?.toLowerCase() ?? '',
  }
}
