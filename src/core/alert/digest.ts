import { type AlertMessage, type AlertSeverity, moreSevere } from './alert.ts'
import { MINUTE_MS } from './send-rate.ts'

const MAX_TITLES = 5

/** The alerts that were not sent as their own messages since the last digest. */
interface Pending {
  readonly since: number
  readonly alerts: number
  readonly notices: number
  readonly severity: AlertSeverity
  readonly titles: readonly string[]
}

/** The totals since the first digest. They start again when no alert went into the digest for long enough. */
interface Told {
  readonly since: number
  readonly at: number
  readonly alerts: number
  readonly notices: number
  readonly severity: AlertSeverity
}

/** At most one message a minute for everything that is beyond the limit. It is an alert of its own, with an end. */
export interface Digest {
  readonly pending: Pending | undefined
  readonly told: Told | undefined
}

export const NO_DIGEST: Digest = Object.freeze({ pending: undefined, told: undefined })

interface DigestEntry {
  /** 1 for a new alert, 0 for further occurrences of an alert that was sent. */
  readonly alerts: 0 | 1
  readonly notices: number
  readonly severity: AlertSeverity
  readonly title: string
}

export function addToDigest(
  digest: Digest,
  { alerts, notices, severity, title }: DigestEntry,
  now: number,
): Digest {
  const before = digest.pending ?? { since: now, alerts: 0, notices: 0, severity, titles: [] }
  const isNamed = before.titles.length >= MAX_TITLES || before.titles.includes(title)
  const pending = {
    since: before.since,
    alerts: before.alerts + alerts,
    notices: before.notices + notices,
    severity: moreSevere(before.severity, severity),
    titles: isNamed ? before.titles : [...before.titles, title],
  }
  return { ...digest, pending }
}

/** When it has something to say, be it that it is over. */
export function digestDueAt({ pending, told }: Digest, resolveAfterMs: number): number {
  if (pending !== undefined) return pending.since + MINUTE_MS
  if (told !== undefined) return told.at + Math.max(resolveAfterMs, MINUTE_MS)
  return Number.POSITIVE_INFINITY
}

/** Says what is pending, or else that it is over. */
export function takeDigestMessage(
  { pending, told }: Digest,
  now: number,
): { readonly digest: Digest; readonly message: AlertMessage | undefined } {
  if (pending !== undefined) {
    const next: Told = {
      since: told?.since ?? pending.since,
      at: now,
      alerts: (told?.alerts ?? 0) + pending.alerts,
      notices: (told?.notices ?? 0) + pending.notices,
      severity: moreSevere(told?.severity ?? pending.severity, pending.severity),
    }
    const message = messageOf(told === undefined ? 'firing' : 'update', next, pending, now)
    return { digest: { pending: undefined, told: next }, message }
  }
  if (told === undefined) return { digest: NO_DIGEST, message: undefined }
  return { digest: NO_DIGEST, message: messageOf('resolved', told, undefined, now) }
}

function messageOf(
  status: AlertMessage['status'],
  told: Told,
  pending: Pending | undefined,
  now: number,
): AlertMessage {
  return {
    status,
    key: 'digest',
    kind: 'digest',
    severity: told.severity,
    facts: pending === undefined ? OVER : { title: titleOf(pending), summary: summaryOf(pending) },
    at: now,
    since: told.since,
    lastSeenAt: told.at,
    count: told.notices,
    newCount: pending?.notices ?? 0,
    alerts: told.alerts,
    ...(status === 'resolved' && { resolvedBy: 'silence' as const }),
  }
}

const OVER = { title: 'No more alerts beyond the limit', summary: 'Every alert is told by itself again.' }

function titleOf({ alerts, notices }: Pending): string {
  return alerts === 0
    ? `${counted(notices, 'more failure')} of alerts that are open`
    : `And ${counted(alerts, 'more alert')}`
}

function summaryOf({ alerts, notices, titles }: Pending): string {
  const named = titles.join('; ')
  const rest = alerts > titles.length ? '; …' : ''
  return `${counted(notices, 'notice')} of ${counted(Math.max(alerts, titles.length), 'cause')} beyond the limit of messages: ${named}${rest}`
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

/** The clock was set back: times move with it. */
export function moveDigest({ pending, told }: Digest, by: number): Digest {
  return {
    pending: pending && { ...pending, since: pending.since + by },
    told: told && { ...told, since: told.since + by, at: told.at + by },
  }
}
