// What the caller's thread and the two threads of a database say to each other. Letters, events and replays cross as
// texts that only the caller's side reads, so that the threads need no codec and a request costs little to copy.

import type { GroupPlace } from '../../../adapter-kit/query/group-query.ts'
import type { LetterPlace } from '../../../adapter-kit/query/letter-query.ts'
import type { SnapshotRow, WantedRows } from '../../../adapter-kit/snapshots/rows.ts'
import type { AuditEntry, AuditQuery } from '../../../ports/audit.ts'
import type { LetterFilter, LetterSeen, TimelineSpan } from '../../../ports/dead-letters.ts'
import type { GroupQuery, TriageChange } from '../../../ports/groups.ts'
import type { ItemStatus, ReplayCounts, ReplayState } from '../../../ports/replays.ts'

/** A letter as it is stored. A tuple, because the names of fields would be copied with every one of them. */
export type LetterRow = readonly [
  id: string,
  /** JSON of what it can be filtered by: channel, handler, type, reason, category, state, group. */
  facet: string,
  lastFailedAt: number,
  firstFailedAt: number,
  /** 1 when it was sent again, else 0. */
  wasReplayed: number,
  search: string,
  body: string,
  /** JSON of its group, or null when this thread was told of the group before. */
  group: string | null,
]

/** A letter as it was found, with the revision that a change of it must name. */
export interface FoundLetter {
  readonly revision: number
  readonly body: string
}

/**
 * `undefined`: it is stored. `group`: its group is new here; come again and tell it. `gone`: it was deleted meanwhile. A
 * letter: another is there, or it has changed meanwhile; merge with it and come again.
 */
export type SendAnswer = undefined | 'full' | 'group' | 'gone' | FoundLetter

/** Six to an event: channel, id, key or null, body, and of a replay: which sending it is, or null, and whom it is for, or null. */
export type EventRows = readonly (string | null)[]
export const EVENT_STRIDE = 6

/** Three to an item: position, status, JSON of all of it. */
export type ItemRows = readonly (number | string)[]
export const ITEM_STRIDE = 3

export type OpenDelivery = readonly [subscription: number, owner: number, place: number]

/** An entry of the journal; its sinks are a JSON list. */
export type JournalRow = readonly [id: string, body: string, sinks: string | null, job: string | null]

export type ClaimAnswer = null | readonly ['busy' | 'done', number]

export type SubscribeAnswer = { readonly subscription: number } | { readonly orderedAs: 'none' | 'by-key' }

export interface WriteCalls {
  sendLetter(row: LetterRow, revision: number | null, capacity: number): SendAnswer
  deleteLetter(id: string, seen: LetterSeen | undefined): boolean
  changeGroup(id: string, change: TriageChange): boolean

  publish(events: EventRows, capacity: number): string | undefined
  register(leaseMs: number): number
  /** The owner's number from now on: another one when its lease was lost. Undefined when this thread never heard of it. */
  beat(owner: number): number | undefined
  resign(owner: number): void
  subscribe(
    owner: number,
    channel: string,
    handler: string,
    isByKey: boolean,
    prefetch: number,
  ): SubscribeAnswer
  unsubscribe(subscription: number): void
  setFlow(subscription: number, isOn: boolean): void
  /** Whether another process has written since the last time. */
  poll(): boolean
  begin(owner: number, delivery: number, ended: number, history: string | null): boolean
  /** These four make room for the next delivery, and answer false when the owner does not have this one any more. */
  done(at: OpenDelivery): boolean
  retry(at: OpenDelivery, notBefore: number, ended: number, history: string | null): boolean
  release(at: OpenDelivery, notBefore: number, takenBack: number): boolean
  /** With a row the letter is kept here. */
  dead(
    at: OpenDelivery,
    letterId: string,
    row: LetterRow | null,
    revision: number | null,
  ): boolean | Exclude<SendAnswer, undefined>
  giveBack(deliveries: readonly OpenDelivery[]): void
  letGo(channel: string, eventId: string, handler: string | undefined): void

  claim(handler: string, key: string, token: string, leaseMs: number, retentionMs: number): ClaimAnswer
  renew(handler: string, key: string, token: string, leaseMs: number): boolean
  complete(handler: string, key: string, token: string): boolean
  releaseClaim(handler: string, key: string, token: string): boolean
  forget(handler: string, key: string): void

  /** These two answer false when there is such a replay already, the second also when items are missing. */
  addItems(replay: string, items: ItemRows): boolean
  createReplay(
    id: string,
    state: string,
    createdAt: number,
    revision: number,
    body: string,
    items: number,
  ): boolean
  updateReplay(id: string, state: string, revision: number, body: string): boolean
  recordItems(replay: string, items: ItemRows): void
  leaseReplay(id: string, owner: string, leaseMs: number): boolean
  letReplayGo(id: string, owner: string): void

  appendAudit(entry: AuditEntry): void

  putSnapshots(rows: readonly SnapshotRow[]): void
  /** At most so many of those before a time; answers how many. */
  purgeSnapshots(before: number, most: number): number

  /** False when there is no room for another. */
  appendJournal(row: JournalRow, capacity: number): boolean
  removeJournal(id: string): void
}

export interface LetterQueryRow {
  readonly filter: LetterFilter
  readonly limit: number
  readonly behind: LetterPlace | undefined
}

export interface StatsRow {
  readonly count: number
  readonly oldestAt: number | undefined
  readonly newestAt: number | undefined
  readonly byState: readonly (readonly [string, number])[]
  readonly byReason: readonly (readonly [string, number])[]
  readonly byChannel: readonly (readonly [string, number])[]
}

export interface GroupRow {
  readonly id: string
  readonly title: string
  readonly rule: string
  readonly basis: string
  readonly category: string
  readonly channels: readonly string[]
  readonly count: number
  readonly waiting: number
  readonly replayed: number
  readonly recovered: number
  readonly firstSeenAt: number
  readonly lastSeenAt: number
  readonly triage: string | null
  readonly notes: string
}

export interface AuditRow {
  readonly seq: number
  readonly at: number
  readonly by: string
  readonly action: string
  readonly target: string
  readonly detail: string | null
}

export interface ReadCalls {
  /** One more than the limit when there is a next page. */
  listLetters(query: LetterQueryRow): readonly string[]
  getLetter(id: string): FoundLetter | undefined
  statLetters(filter: LetterFilter): StatsRow
  timeLetters(filter: LetterFilter, span: TimelineSpan): readonly number[]
  listGroups(
    query: GroupQuery & { readonly limit: number },
    behind: GroupPlace | undefined,
  ): readonly GroupRow[]
  getGroup(id: string): GroupRow | undefined
  depth(channel: string, handler: string): number
  getReplay(id: string): string | undefined
  listReplays(state: ReplayState | null, limit: number): readonly string[]
  listItems(replay: string, status: ItemStatus | null, after: number, limit: number): readonly string[]
  countItems(replay: string): Partial<ReplayCounts>
  listJournal(): readonly JournalRow[]
  listAudit(query: AuditQuery, limit: number, before: number | undefined): readonly AuditRow[]
  snapshotChannels(): readonly string[]
  listSnapshots(channels: readonly string[], query: WantedRows): readonly string[]
}

/** Requests; none of them means that the thread shall end. */
export interface Batch {
  readonly now: number
  /** The same moment by a clock that nobody sets: what waits for its time goes by this one. */
  readonly steadyNow: number
  readonly names: readonly string[]
  readonly args: readonly (readonly unknown[])[]
}

/** The first that a thread says; then it is an answer to every batch. */
export type Opening = { readonly opened: true } | { readonly opened: false; readonly trouble: Trouble }

export interface Answer {
  /** In the order of the requests, whatever batches they came in; a number when there is nothing to say to so many. */
  readonly results: readonly unknown[] | number
  /** The requests that failed, by their place among the results. */
  readonly failed?: readonly (readonly [number, Trouble])[] | undefined
  /** Flat, DELIVERY_STRIDE to a delivery. */
  readonly deliveries?: readonly unknown[] | undefined
  /** When the next retry is due, of those that a subscription here waits for. */
  readonly dueAt?: number | undefined
}

/** subscription, owner, place, body, started, ended, history, the id of a letter that is kept of it. */
export const DELIVERY_STRIDE = 8

/** An error as it crosses threads. */
export interface Trouble {
  readonly kind: 'sqlite' | 'newer' | 'foreign' | 'start' | 'bug'
  readonly message: string
  readonly errcode?: number | undefined
  readonly stack?: string | undefined
}

export interface ThreadData {
  readonly path: string
  readonly role: 'write' | 'read'
  readonly busyTimeoutMs: number
}
