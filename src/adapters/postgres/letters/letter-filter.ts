import type { LetterFilter } from '../../../ports/dead-letters.ts'
import { asMs, asTime, holdable, timeParameter } from '../connection/text.ts'
import { searchable } from './letter-row.ts'

const COLUMNS = {
  channel: 'channel',
  handler: 'handler',
  type: 'type',
  reason: 'reason',
  category: 'category',
  state: 'state',
  group: 'group_id',
} as const

/** Conditions of a statement and the values of their parameters, which grow together. */
export class Conditions {
  readonly values: unknown[]
  readonly #conditions: string[] = []

  constructor(...values: unknown[]) {
    this.values = values
  }

  /** `write` is given the number of the value's parameter. */
  add(value: unknown, write: (parameter: number) => string): this {
    this.#conditions.push(write(this.values.push(value)))
    return this
  }

  get text(): string {
    return this.#conditions.length === 0 ? 'true' : this.#conditions.join(' and ')
  }
}

/** What a filter means (ports/letter-query), in SQL. */
export function addFilter(conditions: Conditions, filter: LetterFilter): Conditions {
  for (const [field, column] of Object.entries(COLUMNS)) {
    const wanted = filter[field as keyof typeof COLUMNS]
    if (wanted !== undefined) conditions.add(holdable(wanted), parameter => `${column} = $${parameter}`)
  }
  const { after, before, search } = filter
  if (after !== undefined)
    conditions.add(timeParameter(after), parameter => `last_failed_at >= ${asTime(parameter)}`)
  if (before !== undefined)
    conditions.add(timeParameter(before), parameter => `last_failed_at < ${asTime(parameter)}`)
  if (search !== undefined)
    conditions.add(searchable(search), parameter => `position($${parameter}::text in search) > 0`)
  return conditions
}

export const LAST_FAILED_MS: string = asMs('last_failed_at')
