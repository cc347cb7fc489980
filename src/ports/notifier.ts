import type { FailedEvent } from '../core/dead-letter/failed-event.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'

interface LetterNotice {
  readonly at: number
  /** The facts for people. The letter itself has everything, including its payload. */
  readonly failed: FailedEvent
  readonly letter: DeadLetter
}

/** A fact that a person should know now. */
export type Notice =
  | (LetterNotice & { readonly kind: 'poison_quarantined' })
  | (LetterNotice & { readonly kind: 'dead_letter' })
  | { readonly kind: 'breaker_opened'; readonly at: number; readonly name: string }
  | { readonly kind: 'breaker_closed'; readonly at: number; readonly name: string }
  | { readonly kind: 'letters_spilled'; readonly at: number; readonly error: string }
  | { readonly kind: 'spill_drained'; readonly at: number; readonly count: number }
  | ChannelNotice

/** A channel's dead letters crossed a limit, or are within it again (K7). */
export interface ChannelNotice {
  readonly kind: 'channel_alert'
  readonly at: number
  readonly channel: string
  /** The name of the store, if the server watches several. */
  readonly store?: string | undefined
  readonly rule: 'depth' | 'age' | 'dominance' | 'rate'
  /** False if the alert is over. */
  readonly firing: boolean
  /** Letters, milliseconds, a share or letters within an hour, by the rule. */
  readonly value: number
  readonly limit: number
  /** The dominant error, for the rule `dominance`. */
  readonly error?: { readonly fingerprint: string; readonly name: string } | undefined
  /** With `firing: false`: when the alert began, if an earlier server reported it. The notifier of this process may not know the alert. */
  readonly toldSince?: number | undefined
}

/**
 * Sends notices to people. `notify` resolves when the notice was handed on. Lazaret calls it after the event's letter is
 * saved and the event is settled, and does not wait for it. A failure is observed and does not affect the event. A process
 * that dies in between sends no notice, so use alerts on the number of dead letters as well. The notifier itself groups
 * notices and limits their rate.
 */
export interface Notifier {
  notify(notice: Notice): Promise<void>
  close?(): Promise<void>
}
