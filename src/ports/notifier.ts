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
  | GroupNotice
  | ReplayNotice
  | ExpiryNotice

/** A fact with an end: the server sends one notice when it begins and one when it is over. */
interface LastingNotice {
  readonly at: number
  /** The name of the store, if the server watches several. */
  readonly store?: string | undefined
  /** False if it is over. */
  readonly firing: boolean
  /** With `firing: false`: when it began, if an earlier server reported it. The notifier of this process may not know the alert. */
  readonly toldSince?: number | undefined
}

/** A resolved group has received a new letter, or a person has decided about it again. */
export interface GroupNotice extends LastingNotice {
  readonly kind: 'group_regressed'
  /** The title is masked. It is undefined if the group has no letters any more. */
  readonly group: { readonly id: string; readonly title?: string | undefined }
  /** The channel with most letters of the group. */
  readonly channel?: string | undefined
}

/** A replay has halted or waits for the approval of a second person, or no longer does. */
export interface ReplayNotice extends LastingNotice {
  readonly kind: 'replay_halted' | 'replay_needs_approval'
  readonly replay: {
    readonly id: string
    /** Why a person planned it, and who did. Undefined if the store has the replay no more. */
    readonly reason?: string | undefined
    readonly by?: string | undefined
    readonly letters?: number | undefined
    /** Why it has halted. Texts of errors in it are masked. */
    readonly halted?: string | undefined
  }
}

/** Retention will soon delete letters of a channel that nobody has decided about, or will no longer. */
export interface ExpiryNotice extends LastingNotice {
  readonly kind: 'letters_expiring'
  readonly channel: string
  /** The number of letters, or the least number if `isMore`. */
  readonly count: number
  readonly isMore: boolean
  /** When retention may delete the first of them. */
  readonly firstAt?: number | undefined
}

/** A channel's dead letters crossed a limit, or are within it again (K7). */
export interface ChannelNotice extends LastingNotice {
  readonly kind: 'channel_alert'
  readonly channel: string
  readonly rule: 'depth' | 'age' | 'dominance' | 'rate'
  /** Letters, milliseconds, a share or letters within an hour, by the rule. */
  readonly value: number
  readonly limit: number
  /** The dominant error, for the rule `dominance`. */
  readonly error?: { readonly fingerprint: string; readonly name: string } | undefined
}

/**
 * Keeps the open alerts of one notifier, as one text, while its process does not run. `read` returns the text of the last
 * `write`, or undefined if there was none. `write` replaces it as a whole: a reader gets the old text or the new one. The
 * notifier calls one of them at a time. It starts without alerts if `read` fails, and goes on if `write` fails.
 */
export interface OpenAlerts {
  read(): Promise<string | undefined>
  write(text: string): Promise<void>
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
