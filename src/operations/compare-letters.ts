import { masksOfLetter } from '../core/dead-letter/event-masks.ts'
import { isMaskedValue, shownFields } from '../core/dead-letter/fields.ts'
import { groupingOf } from '../core/dead-letter/group.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Masks } from '../core/dead-letter/masks.ts'

/** A field that differs. A letter without the field has no text. */
export interface FieldDifference {
  readonly field: string
  readonly first: string | undefined
  readonly second: string | undefined
}

/** Two letters side by side, masked. */
interface LetterComparison {
  readonly isSameGroup: boolean
  readonly differences: readonly FieldDifference[]
  /** The number of fields that are equal. */
  readonly equal: number
  /** Fields that look equal only because a mask hides their values, or a part of them. */
  readonly masked: readonly string[]
  /** The lines of the stack that only one of the letters has. */
  readonly stack: { readonly first: readonly string[]; readonly second: readonly string[] }
}

/** Compares two letters as a person may see them: a mask hides a value in both, and then also whether the values are equal. */
export function compareTwoLetters(first: DeadLetter, second: DeadLetter, masks: Masks): LetterComparison {
  const [left, right] = [fieldsOf(first, masks), fieldsOf(second, masks)]
  const differences: FieldDifference[] = []
  const masked: string[] = []
  let equal = 0
  for (const field of new Set([...left.keys(), ...right.keys()])) {
    const [one, other] = [left.get(field), right.get(field)]
    if (one !== other) differences.push({ field, first: one, second: other })
    else if (isMaskedValue(one!)) masked.push(field)
    else equal++
  }
  const [stack, otherStack] = [stackOf(first, masks), stackOf(second, masks)]
  return {
    isSameGroup: groupingOf(first).id === groupingOf(second).id,
    ...{ differences, equal, masked },
    stack: {
      first: stack.filter(line => !otherStack.includes(line)),
      second: otherStack.filter(line => !stack.includes(line)),
    },
  }
}

function fieldsOf(letter: DeadLetter, masks: Masks): ReadonlyMap<string, string> {
  const { event, cycle } = letter
  const { maskText } = masksOfLetter(letter, masks)
  const own: Readonly<Record<string, string | number | undefined>> = {
    error: cycle.failure && maskText(cycle.failure.name),
    message: cycle.failure && maskText(cycle.failure.message),
    code: cycle.failure?.code === undefined ? undefined : maskText(cycle.failure.code),
    state: letter.state,
    reason: cycle.reason,
    category: cycle.category,
    release: letter.release,
    host: letter.host,
    channel: letter.channel,
    handler: letter.handler,
    job: letter.job,
    type: event.type,
    key: event.key === undefined ? undefined : maskText(event.key),
    source: event.source === undefined ? undefined : maskText(event.source),
    occurred: new Date(event.occurredAt).toISOString(),
    'last failed': new Date(cycle.lastFailedAt).toISOString(),
    attempts: cycle.attemptCount,
    replays: letter.replays,
  }
  const fields = new Map<string, string>()
  for (const [name, value] of Object.entries(own)) if (value !== undefined) fields.set(name, String(value))
  for (const [name, values] of shownFields(letter, masks, { entries: 'apart' }))
    fields.set(name, values.join(', '))
  return fields
}

function stackOf(letter: DeadLetter, masks: Masks): readonly string[] {
  const stack = letter.cycle.failure?.stack
  return stack === undefined ? [] : masksOfLetter(letter, masks).maskText(stack).split('\n')
}
