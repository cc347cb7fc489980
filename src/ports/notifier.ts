import type { DeadLetter } from '../core/dead-letter/letter.ts'

/** Something a person should know now. */
export type Notice =
  | { readonly kind: 'poison_quarantined'; readonly at: number; readonly letter: DeadLetter }
  | { readonly kind: 'dead_letter'; readonly at: number; readonly letter: DeadLetter }
  | { readonly kind: 'breaker_opened'; readonly at: number; readonly name: string }
  | { readonly kind: 'letters_spilled'; readonly at: number; readonly error: string }

/**
 * Tells people. `notify` resolves when the notice was handed on; it is called off the path of events, and its failure
 * is observed but changes nothing for them. Grouping and rate limiting are the notifier's own business.
 */
export interface Notifier {
  notify(notice: Notice): Promise<void>
  close?(): Promise<void>
}
