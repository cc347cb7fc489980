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
  const { channel, handler, event, state, cycle, endedCycles, replays } = letter
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
    String(endedCycles[0]?.firstFailedAt ?? cycle.firstFailedAt),
    replays > 0 ? '1' : '',
    searchTextOf(letter, texts !== undefined),
    title,
    rule,
    basis,
  ]
}

function searchTextOf(letter: DeadLetter, isSealed: boolean): string {
  return searchedTexts(letter, isSealed)
    .filter(text => text !== undefined)
    .join(SEPARATOR)
    .toLowerCase()
}

/** A filter as `scan` reads it: by which index, and what else a letter there must be. */
export interface ScanFilter {
  readonly facet: string
  readonly value: string
  readonly after: string
  readonly before: string
  readonly search: string
  /** Field, value, field, value. */
  readonly others: readonly string[]
}

/** The fields of a letter in the order in which they narrow best. */
const FIELDS = [
  ['group', 'g'],
  ['type', 't'],
  ['channel', 'c'],
  ['state', 's'],
  ['handler', 'h'],
  ['reason', 'r'],
  ['category', 'y'],
] as const
/**
 * The indexes of letters. The cost of a filter by one of these depends on its matches; that of any other depends on all
 * letters that it checks.
 */
const FACETS: readonly string[] = ['g', 't', 'c', 's']

export function scanFilterOf(filter: ResolvedLetterFilter): ScanFilter {
  const wanted = FIELDS.flatMap(([name, field]) => {
    const value = filter[name]
    return value === undefined ? [] : [[field, value] as const]
  })
  const [first] = wanted
  const indexed = first !== undefined && FACETS.includes(first[0]) ? first : undefined
  return {
    facet: indexed?.[0] ?? '',
    value: indexed?.[1] ?? '',
    after: filter.after === undefined ? '' : String(filter.after),
    before: filter.before === undefined ? '' : String(filter.before),
    search: filter.search?.toLowerCase() ?? '',
    others: wanted.filter(each => each !== indexed).flat(),
  }
}
