import type { Cycle } from '../api/types.ts'
import { span } from './times.ts'

export interface Difference {
  readonly name: string
  readonly before: string
  readonly after: string
  readonly isChanged: boolean
}

/** What one life of an event had against the next, field by field, the same ones included. */
export function cycleDifferences(before: Cycle, after: Cycle): readonly Difference[] {
  const [left, right] = [fieldsOf(before), fieldsOf(after)]
  return Object.keys(left).map(name => ({
    name,
    before: left[name]!,
    after: right[name]!,
    isChanged: left[name] !== right[name],
  }))
}

function fieldsOf({
  reason,
  category,
  failure,
  attemptCount,
  firstFailedAt,
  lastFailedAt,
}: Cycle): Record<string, string> {
  return {
    reason: reason.replaceAll('_', ' '),
    category,
    error: failure?.name ?? 'none',
    message: failure?.message ?? 'none',
    code: failure?.code ?? 'none',
    cause: failure?.fingerprint ?? 'none',
    attempts: String(attemptCount),
    duration: span(Date.parse(lastFailedAt) - Date.parse(firstFailedAt)),
  }
}
