import { failedEvent } from '../core/dead-letter/failed-event.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import type { LetterObservation, Observer } from '../ports/observer.ts'
import { LINES } from './log/lines.ts'

/**
 * Only the line of `logObserver` for a dead letter, as JSON, for programs without a logger. It is written for every
 * letter, held back ones and poison too, so it does not go together with a `logObserver`. To be spread into another
 * observer: `observer: { ...mine, ...failureLog(line => console.error(line)) }`.
 */
export function failureLog(
  write: (line: string) => void,
  masks?: Masks,
): Pick<Observer, 'letterSaved' | 'letterSpilled'> {
  const { level, message: what } = LINES.deadLetter
  const log = ({ letter, again }: LetterObservation) => {
    if (!again) write(JSON.stringify({ level, what, ...failedEvent(letter, masks) }))
  }
  return { letterSaved: log, letterSpilled: log }
}
