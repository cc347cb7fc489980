import {
  type AlertMessage,
  type AlertPhase,
  type AlertStatus,
  type Occurrence,
  type OpenAlert,
  type ResolvedBy,
  resolvesBySilence,
} from './alert.ts'
import { addToDigest, type Digest, digestDueAt, moveDigest, NO_DIGEST, takeDigestMessage } from './digest.ts'
import type { AlertPolicy } from './policy.ts'
import { MINUTE_MS, nextSlotAt, recent, type SentTimes } from './send-rate.ts'

/** The state of all alerts. It is a plain value, so that the decision is a pure function and can be tested without timers. */
export interface AlertState {
  /** The time of the last decision. */
  readonly now: number
  /** Open alerts by key, least recently seen first. */
  readonly open: ReadonlyMap<string, OpenAlert>
  readonly sent: SentTimes
  readonly digest: Digest
  /** The earliest time at which something is due. */
  readonly wakeAt: number
}

export type AlertInput =
  | { readonly what: 'seen'; readonly occurrence: Occurrence }
  /** The alert with this key ends. If it is not open here, a message is sent only if another process reported its begin. */
  | {
      readonly what: 'over'
      readonly key: string
      readonly by: ResolvedBy
      readonly elsewhere?: ReportedElsewhere | undefined
    }
  /** The process starts with the alerts that were open when the one before it ended. */
  | { readonly what: 'restore'; readonly alerts: readonly OpenAlert[] }
  /** Time has passed. */
  | { readonly what: 'tick' }
  /** The notifier closes. Waiting messages are sent now, even beyond the limit. */
  | { readonly what: 'close' }

/** An alert that an earlier process reported and did not end. */
interface ReportedElsewhere {
  readonly since: number
  readonly occurrence: Occurrence
}

interface Decision {
  readonly board: AlertState
  readonly messages: readonly AlertMessage[]
  /** The time to call `decideAlerts` again, if nothing happens before. */
  readonly wakeAt: number | undefined
}

export const NO_ALERTS: AlertState = Object.freeze({
  now: Number.NEGATIVE_INFINITY,
  open: new Map(),
  sent: [],
  digest: NO_DIGEST,
  wakeAt: Number.POSITIVE_INFINITY,
})

/**
 * Decides which messages to send, and when.
 *
 * - The first occurrence of an alert is sent at once. Further occurrences are counted and sent as one update, at most every
 *   `repeatMs`. The end is sent once, and only for an alert whose begin was sent.
 * - At most `perMinute` messages are sent in a minute. An alert over that limit goes into the digest, and is sent as its
 *   own message later if it continues. Updates and ends wait, because a lost end would leave an incident open permanently.
 * - At most `maxOpen` alerts are kept. The least recently seen alerts of the digest are dropped first. An alert that was
 *   sent is never dropped, because its receivers wait for its end.
 * - A restored alert that is not reported again ends by silence, also one that otherwise lasts until its recovery.
 */
export function decideAlerts(
  state: AlertState,
  input: AlertInput,
  now: number,
  policy: AlertPolicy,
): Decision {
  const draft = new AlertDraft(state, now, policy)
  draft.settleIfDue()
  if (input.what === 'seen') draft.see(input.occurrence)
  else if (input.what === 'over') draft.end(input)
  else if (input.what === 'restore') draft.restore(input.alerts)
  else if (input.what === 'close') draft.close()
  draft.settleIfDue()
  const next = draft.board()
  return {
    board: next,
    messages: draft.messages,
    wakeAt: Number.isFinite(next.wakeAt) ? next.wakeAt : undefined,
  }
}

const TOLD: AlertPhase = Object.freeze({ is: 'told' })
const DIGESTED: AlertPhase = Object.freeze({ is: 'digested' })

/** The next state while it is being computed. The state before it does not change. */
class AlertDraft {
  readonly messages: AlertMessage[] = []
  readonly #now: number
  readonly #policy: AlertPolicy
  readonly #open: Map<string, OpenAlert>
  #sent: SentTimes
  #digest: Digest
  #wakeAt: number

  constructor(before: AlertState, now: number, policy: AlertPolicy) {
    const { open, sent, digest, wakeAt } = now < before.now ? moved(before, now - before.now) : before
    this.#now = now
    this.#policy = policy
    this.#open = new Map(open)
    this.#sent = recent(sent, now)
    this.#digest = digest
    this.#wakeAt = wakeAt
  }

  board(): AlertState {
    return {
      now: this.#now,
      open: this.#open,
      sent: this.#sent,
      digest: this.#digest,
      wakeAt: this.#wakeAt,
    }
  }

  see(occurrence: Occurrence): void {
    const known = this.#open.get(occurrence.key)
    if (known === undefined) {
      this.#begin(occurrence)
      return
    }
    // Inserted again at the end of the map, as the most recently seen alert.
    this.#open.delete(known.key)
    this.#put({
      ...known,
      ...occurrence,
      phase: known.phase.is === 'over' ? TOLD : known.phase,
      lastSeenAt: this.#now,
      restoredAt: undefined,
      factsAt: occurrence.facts === known.facts ? known.factsAt : this.#now,
      count: known.count + 1,
      untold: known.untold + 1,
    })
  }

  end({ key, by, elsewhere }: Extract<AlertInput, { readonly what: 'over' }>): void {
    const alert = this.#open.get(key)
    if (alert === undefined && elsewhere !== undefined) this.#endElsewhere(elsewhere, by)
    if (alert === undefined || alert.phase.is === 'over') return
    if (alert.phase.is === 'digested') this.#forget(alert)
    else this.#put({ ...alert, phase: { is: 'over', by } })
  }

  /** The end waits for a free slot like every other end. If the map is full, it is sent beyond the limit. */
  #endElsewhere({ occurrence, since }: ReportedElsewhere, by: ResolvedBy): void {
    const now = this.#now
    const times = { since: Math.min(since, now), lastSeenAt: now, factsAt: now, toldAt: now }
    const alert: OpenAlert = { ...occurrence, ...times, count: 1, untold: 0, phase: { is: 'over', by } }
    if (this.#makeRoom()) this.#put(alert)
    else this.#resolve(alert, by)
  }

  /** The clock may have been set back since the alerts were kept. */
  restore(alerts: readonly OpenAlert[]): void {
    const now = this.#now
    for (const alert of alerts) {
      if (this.#open.has(alert.key) || this.#open.size >= this.#policy.maxOpen) continue
      const { since, lastSeenAt, factsAt, toldAt } = alert
      const times = { since, lastSeenAt, factsAt, toldAt }
      const past = Object.fromEntries(Object.entries(times).map(([name, at]) => [name, Math.min(at, now)]))
      this.#put({ ...alert, ...past, restoredAt: now })
    }
  }

  close(): void {
    for (const alert of [...this.#open.values()]) {
      if (alert.phase.is === 'over') this.#resolve(alert, alert.phase.by)
      else if (alert.untold > 0) {
        this.#gather(alert, 0, alert.untold)
        this.#open.set(alert.key, { ...alert, untold: 0 })
      }
    }
    if (this.#digest.pending !== undefined) this.#sendDigest()
  }

  settleIfDue(): void {
    if (this.#wakeAt <= this.#now) this.#settle()
  }

  /** Sends everything that is due, as far as the limit allows: ends first, then the alert that has waited longest. */
  #settle(): void {
    const due = [...this.#open.values()].filter(alert => this.#dueAt(alert) <= this.#now)
    due.sort((a, b) => this.#rank(a) - this.#rank(b) || a.toldAt - b.toldAt)
    for (const alert of due) this.#act(alert)
    if (this.#digestDueAt() <= this.#now) this.#sendDigest()
    this.#wakeAt = this.#digestDueAt()
    for (const alert of this.#open.values()) this.#wakeFor(alert)
  }

  #wakeFor(alert: OpenAlert): void {
    // Silence is detected with or without a free slot; a message needs a slot.
    const room = nextSlotAt(this.#sent, this.#policy.perMinute)
    const sayAt = alert.phase.is === 'over' ? room : Math.max(this.#repeatAt(alert), room)
    this.#wakeAt = Math.min(this.#wakeAt, this.#silentAt(alert), sayAt)
  }

  #put(alert: OpenAlert): void {
    this.#open.set(alert.key, alert)
    this.#wakeFor(alert)
  }

  #digestDueAt(): number {
    return digestDueAt(this.#digest, this.#policy.resolveAfterMs)
  }

  #begin(occurrence: Occurrence): void {
    const now = this.#now
    const alert = {
      ...occurrence,
      since: now,
      lastSeenAt: now,
      factsAt: now,
      toldAt: now,
      count: 1,
      untold: 1,
    }
    if (this.#makeRoom()) {
      if (this.#hasSlot()) this.#tell({ ...alert, phase: TOLD }, 'firing')
      else this.#digestWhole({ ...alert, phase: DIGESTED })
    } else this.#gather(occurrence, 1, 1)
  }

  #digestWhole(alert: OpenAlert): void {
    this.#gather(alert, 1, alert.untold)
    this.#put({ ...alert, untold: 0 })
  }

  #makeRoom(): boolean {
    if (this.#open.size < this.#policy.maxOpen) return true
    for (const alert of this.#open.values())
      if (alert.phase.is === 'digested') {
        this.#forget(alert)
        return true
      }
    return false
  }

  #act(alert: OpenAlert): void {
    const { phase } = alert
    const isSilent = this.#silentAt(alert) <= this.#now
    if (phase.is === 'digested' && isSilent) this.#forget(alert)
    else if (phase.is === 'over' || isSilent) {
      const by = phase.is === 'over' ? phase.by : 'silence'
      if (this.#hasSlot()) this.#resolve(alert, by)
      else this.#open.set(alert.key, { ...alert, phase: { is: 'over', by } })
    } else if (this.#hasSlot())
      this.#tell({ ...alert, phase: TOLD }, phase.is === 'told' ? 'update' : 'firing')
  }

  #dueAt(alert: OpenAlert): number {
    if (alert.phase.is === 'over') return Number.NEGATIVE_INFINITY
    return Math.min(this.#silentAt(alert), this.#repeatAt(alert))
  }

  #repeatAt({ phase, untold, toldAt, kind }: OpenAlert): number {
    if (untold > 0) return toldAt + this.#policy.repeatMs
    // An alert that lasts until its recovery occurs only once, so no further occurrence would move it out of the digest.
    const isHidden = phase.is === 'digested' && !resolvesBySilence({ kind })
    return isHidden ? toldAt + MINUTE_MS : Number.POSITIVE_INFINITY
  }

  #silentAt(alert: OpenAlert): number {
    const { phase, lastSeenAt, restoredAt } = alert
    if (phase.is === 'over') return Number.POSITIVE_INFINITY
    // Nothing was reported while no process ran, so the silence of a restored alert begins with the restart.
    if (restoredAt !== undefined) return Math.max(lastSeenAt, restoredAt) + this.#policy.resolveAfterMs
    if (!resolvesBySilence(alert)) return Number.POSITIVE_INFINITY
    return lastSeenAt + this.#policy.resolveAfterMs
  }

  #rank(alert: OpenAlert): number {
    return alert.phase.is === 'over' || this.#silentAt(alert) <= this.#now ? 0 : 1
  }

  #hasSlot(): boolean {
    return nextSlotAt(this.#sent, this.#policy.perMinute) <= this.#now
  }

  #tell(alert: OpenAlert, status: AlertStatus): void {
    this.#say(alert, status)
    this.#put({ ...alert, toldAt: this.#now, untold: 0 })
  }

  #resolve(alert: OpenAlert, by: ResolvedBy): void {
    this.#say(alert, 'resolved', by)
    this.#open.delete(alert.key)
  }

  #say(alert: OpenAlert, status: AlertStatus, resolvedBy?: ResolvedBy): void {
    const { key, kind, severity, facts, since, lastSeenAt, count, untold: newCount } = alert
    const what = { key, kind, severity, facts }
    const at = this.#now
    this.messages.push({ status, ...what, at, since, lastSeenAt, count, newCount, resolvedBy })
    this.#sent = [...this.#sent, at]
  }

  /** The alert was sent in a digest only, so no receiver waits for its end. */
  #forget(alert: OpenAlert): void {
    if (alert.untold > 0) this.#gather(alert, 0, alert.untold)
    this.#open.delete(alert.key)
  }

  #gather({ severity, facts: { title } }: Occurrence, alerts: 0 | 1, notices: number): void {
    this.#digest = addToDigest(this.#digest, { alerts, notices, severity, title }, this.#now)
    this.#wakeAt = Math.min(this.#wakeAt, this.#digestDueAt())
  }

  #sendDigest(): void {
    const { digest, message } = takeDigestMessage(this.#digest, this.#now)
    this.#digest = digest
    if (message !== undefined) this.messages.push(message)
  }
}

/** The clock was set back. All times move with it; otherwise nothing would be due until the clock has caught up. */
function moved(board: AlertState, by: number): AlertState {
  const open = Array.from(board.open.values(), (alert): [string, OpenAlert] => [
    alert.key,
    {
      ...alert,
      since: alert.since + by,
      lastSeenAt: alert.lastSeenAt + by,
      factsAt: alert.factsAt + by,
      toldAt: alert.toldAt + by,
      restoredAt: alert.restoredAt === undefined ? undefined : alert.restoredAt + by,
    },
  ])
  return {
    ...board,
    open: new Map(open),
    sent: board.sent.map(at => at + by),
    digest: moveDigest(board.digest, by),
    wakeAt: board.wakeAt + by,
  }
}
