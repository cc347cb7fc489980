import type { FailedEvent } from '../dead-letter/failed-event.ts'

/** From the least on. */
export const ALERT_SEVERITIES = ['info', 'warning', 'error', 'critical'] as const

/** The severity of an alert: `info`, `warning`, `error` or `critical`. */
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number]

/** The alerts that a server finds in its stores, beside those about channels. */
export const STORE_ALERT_KINDS = [
  'group_regressed',
  'replay_halted',
  'replay_needs_approval',
  'letters_expiring',
] as const

/**
 * The kinds of alerts. Most have the name of the notice that raises them. `alert_undelivered` is about a target of
 * the notifier itself, and `digest` replaces many messages with one.
 */
export const ALERT_KINDS = [
  'dead_letter',
  'poison_quarantined',
  'breaker_opened',
  'letters_spilled',
  'channel_alert',
  ...STORE_ALERT_KINDS,
  'alert_undelivered',
  'digest',
] as const

/** The kind of problem that an alert reports, such as `breaker_opened`. */
export type AlertKind = (typeof ALERT_KINDS)[number]

/** The facts of the latest occurrence: masked, short texts only, because they are kept while the alert is open. */
export interface AlertFacts {
  readonly title: string
  readonly summary: string
  readonly channel?: string | undefined
  readonly handler?: string | undefined
  /** The group of letters that it is about. */
  readonly group?: string | undefined
  readonly failed?: FailedEvent | undefined
  /** The id of the replay that it is about. */
  readonly replay?: string | undefined
  /** The name of a breaker. */
  readonly breaker?: string | undefined
  readonly limit?:
    | {
        readonly rule: 'depth' | 'age' | 'dominance' | 'rate'
        readonly value: number
        readonly limit: number
      }
    | undefined
  /** The name of the notifier's own target that does not take alerts. */
  readonly target?: string | undefined
}

/** One report of a problem. All reports with one key belong to the same alert. */
export interface Occurrence {
  readonly key: string
  readonly kind: AlertKind
  readonly severity: AlertSeverity
  readonly facts: AlertFacts
}

/**
 * What ended an alert. `recovery`: the reporter says that the problem is over. `silence`: the problem has not been reported
 * again. `muted`: a person muted it.
 */
export type ResolvedBy = 'recovery' | 'silence' | 'muted'

/**
 * The phase of an open alert.
 * - `told`: people got the message that it fires, and will get the message that it ended.
 * - `digested`: it began while there were too many messages, so only the digest counts it.
 * - `over`: it ended, and the message of the end is not sent yet. If the problem is reported before that, the alert continues.
 */
export type AlertPhase =
  | { readonly is: 'told' }
  | { readonly is: 'digested' }
  | { readonly is: 'over'; readonly by: ResolvedBy }

export interface OpenAlert extends Occurrence {
  readonly phase: AlertPhase
  readonly since: number
  readonly lastSeenAt: number
  /** When its facts were last new. */
  readonly factsAt: number
  /** When people were last notified of it, in its own message or in the digest. */
  readonly toldAt: number
  readonly count: number
  /** The number of occurrences in `count` that no message contains yet. */
  readonly untold: number
  /**
   * When the alert was restored after a restart. Undefined once the problem is reported again. Until then nobody may know
   * that it is over: a breaker that was open is closed in the new process, and does not close again.
   */
  readonly restoredAt?: number | undefined
}

/** Whether an alert is new, has news, or is over. */
export type AlertStatus = 'firing' | 'update' | 'resolved'

/** One message to people. */
export interface AlertMessage extends Occurrence {
  readonly status: AlertStatus
  readonly at: number
  readonly since: number
  readonly lastSeenAt: number
  readonly count: number
  /** The part of `count` since the last message. Over all messages these add up to the total. */
  readonly newCount: number
  readonly resolvedBy?: ResolvedBy | undefined
  /** The number of alerts that a digest replaces. Undefined for other messages. */
  readonly alerts?: number | undefined
}

/** Problems without an end of their own. The alert ends when the problem has not been reported for a while. */
const MOMENTARY: ReadonlySet<AlertKind> = new Set(['dead_letter', 'poison_quarantined', 'alert_undelivered'])

export function resolvesBySilence({ kind }: Pick<OpenAlert, 'kind'>): boolean {
  return MOMENTARY.has(kind)
}

export function moreSevere(a: AlertSeverity, b: AlertSeverity): AlertSeverity {
  return ALERT_SEVERITIES.indexOf(a) >= ALERT_SEVERITIES.indexOf(b) ? a : b
}
