import { type ResolvedLetterFilter, searchedTexts } from '../../../adapter-kit/query/letter-query.ts'
import { groupTextsAtRest } from '../../../adapter-kit/sealed/groups.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { TextCodec } from '../../../ports/codec.ts'

/** What separates the texts that can be searched; nobody looks for it. */
const SEPARATOR = '\u0000\u0001'

/** What a script has to know of a letter, because it cannot look into it: it may be sealed. In the order `save` reads it. */
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
/** What letters are indexed by. A filter by one of these costs what it finds, any other what it looks at. */
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
