import type { FailedEvent } from '../dead-letter/failed-event.ts'

/** From the least on. */
export const ALERT_SEVERITIES = ['info', 'warning', 'error', 'critical'] as const

/** The severity of an alert: `info`, `warning`, `error` or `critical`. */
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number]

/**
 * What an alert is about. The first five are named after the notice that raises them; `alert_undelivered` is about a
 * target of the notifier itself, and `digest` gathers what would have been too many messages.
 */
export const ALERT_KINDS = [
  'dead_letter',
  'poison_quarantined',
  'breaker_opened',
  'letters_spilled',
  'channel_alert',
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
 * - `told`: people have its firing, and will get its end.
 * - `digested`: it came when there were too many messages; the digest has counted it.
 * - `over`: people have its firing, and its end waits for its turn. Seen again before that, it goes on as if nothing was.
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
}

/** Whether an alert is new, has news, or is over. */
export type AlertStatus = 'firing' | 'update' | 'resolved'

/** One thing to say to people. */
export interface AlertMessage extends Occurrence {
  readonly status: AlertStatus
  readonly at: number
  readonly since: number
  readonly lastSeenAt: number
  readonly count: number
  /** Of `count`: since the message before. Over all messages they add up to everything that happened. */
  readonly newCount: number
  readonly resolvedBy?: ResolvedBy | undefined
  /** Of a digest: how many alerts it stands for. */
  readonly alerts?: number | undefined
}

/** Things that happen and are over at once: that they happen no more is seen by their not happening. */
const MOMENTARY: ReadonlySet<AlertKind> = new Set(['dead_letter', 'poison_quarantined', 'alert_undelivered'])

export function resolvesBySilence({ kind }: Pick<OpenAlert, 'kind'>): boolean {
  return MOMENTARY.has(kind)
}

export function moreSevere(a: AlertSeverity, b: AlertSeverity): AlertSeverity {
  return ALERT_SEVERITIES.indexOf(a) >= ALERT_SEVERITIES.indexOf(b) ? a : b
}
