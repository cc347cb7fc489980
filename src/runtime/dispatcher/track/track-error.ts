import { LazaretError } from '../../../core/failure/errors.ts'
import type { TrackResult } from './track-result.ts'

/**
 * An event was tracked in vain: no sink took it, or a copy of it could not even be saved. `result` says what became of
 * it in each sink. Copies that are dead letters are safe: tracking the event again would send them twice.
 */
export class TrackingError extends LazaretError {
  override readonly name = 'TrackingError'
  readonly result: TrackResult

  constructor(result: TrackResult, cause?: unknown) {
    const unsaved = Object.values(result.sinks).some(({ outcome }) => outcome === 'unsaved')
    const { id, type } = result.event ?? { id: '?', type: '?' }
    const remedy = unsaved
      ? 'not every copy could be saved: look at the dead-letter store, and track it again'
      : 'its dead letters can be replayed once the sinks are well'
    super(`event ${id} of type '${type}' was not tracked: ${outcomesText(result)}; ${remedy}`, {
      code: 'LAZARET_TRACKING_FAILED',
      retryable: unsaved,
      ...(cause === undefined ? {} : { cause }),
    })
    this.result = result
  }
}

function outcomesText({ sinks }: TrackResult): string {
  return Object.entries(sinks)
    .map(([name, { outcome, reason }]) => `${name} ${outcome}${reason === undefined ? '' : ` (${reason})`}`)
    .join(', ')
}
