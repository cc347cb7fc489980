import type { Cycle } from '../api/types.ts'
import { type Difference, differences } from './differences.ts'
import { span } from './times.ts'

/** What one life of an event had against the next, field by field, the same ones included. */
export function cycleDifferences(before: Cycle, after: Cycle): readonly Difference[] {
  return differences(fieldsOf(before), fieldsOf(after))
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
