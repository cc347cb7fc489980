import type { FailedEvent } from '../core/dead-letter/failed-event.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'

interface LetterNotice {
  readonly at: number
  /** What to tell of it. The letter itself has everything, its payload included. */
  readonly failed: FailedEvent
  readonly letter: DeadLetter
}

/** Something a person should know now. */
export type Notice =
  | (LetterNotice & { readonly kind: 'poison_quarantined' })
  | (LetterNotice & { readonly kind: 'dead_letter' })
  | { readonly kind: 'breaker_opened'; readonly at: number; readonly name: string }
  | { readonly kind: 'letters_spilled'; readonly at: number; readonly error: string }

/**
 * Tells people. `notify` resolves when the notice was handed on; it is called off the path of events, and its failure
 * is observed but changes nothing for them. Of an event it tells when the event's letter is safe and the event is settled;
 * a process that dies at that moment tells nobody, so alerts on the number of dead letters stand beside it. Grouping and rate limiting are the notifier's own business.
 */
export interface Notifier {
  notify(notice: Notice): Promise<void>
  close?(): Promise<void>
}
