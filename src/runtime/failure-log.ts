import { failedEvent } from '../core/dead-letter/failed-event.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import type { Observer } from '../ports/observer.ts'

/**
 * An observer that writes one line of JSON for each event that was given up on, once its letter is safe. To be spread into
 * another one: `observer: { ...mine, ...failureLog(line => console.error(line)) }`.
 */
export function failureLog(
  write: (line: string) => void,
  masks?: Masks,
): Pick<Observer, 'letterSaved' | 'letterSpilled'> {
  const log = ({ letter }: { readonly letter: DeadLetter }) =>
    write(JSON.stringify({ level: 'error', what: 'event failed', ...failedEvent(letter, masks) }))
  return { letterSaved: log, letterSpilled: log }
}
