import {
  type AlertMessage,
  type AlertPhase,
  type AlertStatus,
  type Occurrence,
  type OpenAlert,
  type ResolvedBy,
  resolvesBySilence,
} from './alert.ts'
import { addToDigest, type Digest, digestDueAt, moveDigest, NO_DIGEST, tellDigest } from './digest.ts'
import type { AlertPolicy } from './policy.ts'
import { MINUTE_MS, nextSlotAt, recent, type SentTimes } from './send-rate.ts'

/** Everything that is known of alerts at one moment. */
export interface AlertState {
  /** The time of the last decision. */
  readonly now: number
  /** By their keys, least recently seen first. */
  readonly open: ReadonlyMap<string, OpenAlert>
  readonly sent: SentTimes
  readonly digest: Digest
  /** Nothing falls due before. */
  readonly wakeAt: number
}

export type AlertInput =
  | { readonly what: 'seen'; readonly occurrence: Occurrence }
  /** The alert with this key is at its end. If it is not open, nothing is told, unless others were told of it elsewhere. */
  | {
      readonly what: 'over'
      readonly key: string
      readonly by: ResolvedBy
      readonly elsewhere?: ReportedElsewhere | undefined
    }
  /** Time has passed. */
  | { readonly what: 'tick' }
  /** Nothing will be seen any more: what waits to be told is told now, beyond the limit if need be. */
  | { readonly what: 'close' }

/** What a process that is no more has told people, who wait for its end. */
interface ReportedElsewhere {
  readonly since: number
  readonly occurrence: Occurrence
}

interface Decision {
  readonly board: AlertState
  readonly messages: readonly AlertMessage[]
  /** When to ask again, if nothing happens before. */
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
 * What people are told, and when.
 *
 * - The first occurrence of an alert is told at once; more of it are counted and told as one update, every `repeatMs` at
 *   most. Its end is told once, and only to those who were told that it began.
 * - No minute sees more than `perMinute` messages. An alert that finds no room is counted by the digest, and told by
 *   itself later if it goes on; updates and ends wait for their turn, because a lost end would leave an incident open
 *   permanently.
 * - At most `maxOpen` alerts are kept. The digest takes the place of those that nobody was told of, least recently seen
 *   first; one that people were told of is never forgotten, because they wait for its end.
 */
export function decideAlerts(
  board: AlertState,
  input: AlertInput,
  now: number,
  policy: AlertPolicy,
): Decision {
  const draft = new AlertDraft(board, now, policy)
  draft.settleIfDue()
  if (input.what === 'seen') draft.see(input.occurrence)
  else if (input.what === 'over') draft.end(input)
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

/** A board while it is being decided upon. The one it began with stays as it was. */
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
    // To the end of the map: it is the most recently seen.
    this.#open.delete(known.key)
    this.#put({
      ...known,
      ...occurrence,
      phase: known.phase.is === 'over' ? TOLD : known.phase,
      lastSeenAt: this.#now,
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

  /** It waits for its turn as any end does; where there is no room to wait it is told beyond the limit. */
  #endElsewhere({ occurrence, since }: ReportedElsewhere, by: ResolvedBy): void {
    const now = this.#now
    const times = { since: Math.min(since, now), lastSeenAt: now, factsAt: now, toldAt: now }
    const alert: OpenAlert = { ...occurrence, ...times, count: 1, untold: 0, phase: { is: 'over', by } }
    if (this.#makeRoom()) this.#put(alert)
    else this.#resolve(alert, by)
  }

  close(): void {
    for (const alert of [...this.#open.values()]) {
      if (alert.phase.is === 'over') this.#resolve(alert, alert.phase.by)
      else if (alert.untold > 0) {
        this.#gather(alert, 0, alert.untold)
        this.#open.set(alert.key, { ...alert, untold: 0 })
      }
    }
    if (this.#digest.pending !== undefined) this.#tellDigest()
  }

  settleIfDue(): void {
    if (this.#wakeAt <= this.#now) this.#settle()
  }

  /** Does everything whose time has come, as far as there is room for it: ends first, then who has waited longest. */
  #settle(): void {
    const due = [...this.#open.values()].filter(alert => this.#dueAt(alert) <= this.#now)
    due.sort((a, b) => this.#rank(a) - this.#rank(b) || a.toldAt - b.toldAt)
    for (const alert of due) this.#act(alert)
    if (this.#digestDueAt() <= this.#now) this.#tellDigest()
    this.#wakeAt = this.#digestDueAt()
    for (const alert of this.#open.values()) this.#wakeFor(alert)
  }

  #wakeFor(alert: OpenAlert): void {
    // That it has become silent is seen with or without room; to say anything there has to be some.
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
    // What goes on until it is said to be over happens only once, so nothing else would bring it out of the digest.
    const isHidden = phase.is === 'digested' && !resolvesBySilence({ kind })
    return isHidden ? toldAt + MINUTE_MS : Number.POSITIVE_INFINITY
  }

  #silentAt(alert: OpenAlert): number {
    if (alert.phase.is === 'over' || !resolvesBySilence(alert)) return Number.POSITIVE_INFINITY
    return alert.lastSeenAt + this.#policy.resolveAfterMs
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

  /** Nobody was told of it by itself, so nobody waits for its end. */
  #forget(alert: OpenAlert): void {
    if (alert.untold > 0) this.#gather(alert, 0, alert.untold)
    this.#open.delete(alert.key)
  }

  #gather({ severity, facts: { title } }: Occurrence, alerts: 0 | 1, notices: number): void {
    this.#digest = addToDigest(this.#digest, { alerts, notices, severity, title }, this.#now)
    this.#wakeAt = Math.min(this.#wakeAt, this.#digestDueAt())
  }

  #tellDigest(): void {
    const { digest, message } = tellDigest(this.#digest, this.#now)
    this.#digest = digest
    if (message !== undefined) this.messages.push(message)
  }
}

/** The clock was set back: all times move with it, or everything would stand still until it has caught up. */
function moved(board: AlertState, by: number): AlertState {
  const open = Array.from(board.open.values(), (alert): [string, OpenAlert] => [
    alert.key,
    {
      ...alert,
      since: alert.since + by,
      lastSeenAt: alert.lastSeenAt + by,
      factsAt: alert.factsAt + by,
      toldAt: alert.toldAt + by,
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
