import type { JsonValue } from '../core/event/event.ts'
import type { LetterFilter } from './dead-letters.ts'

/** What a gate decided about one letter (K8). */
export const REPLAY_DECISIONS = [
  'replay',
  'skip_schema',
  'skip_expired',
  'skip_downstream',
  'skip_unapproved',
  'skip_state',
  'skip_unreachable',
] as const
/** What a gate decided about one letter of a replay. */
export type ReplayDecision = (typeof REPLAY_DECISIONS)[number]

/**
 * The status of one letter in a replay. `waiting`: not sent yet. `sent`: sent without an outcome yet. The others are
 * outcomes; `lost` is a letter that was deleted after it was sent.
 */
export const ITEM_STATUSES = [
  'waiting',
  'sent',
  'recovered',
  'failed_same_cause',
  'failed_new_cause',
  'skipped',
  'lost',
] as const
/** The status of one letter of a replay. */
export type ItemStatus = (typeof ITEM_STATUSES)[number]

/** One letter of a replay. */
export interface ReplayItem {
  /** The position in the order of sending, from 0. */
  readonly position: number
  readonly letterId: string
  readonly decision: ReplayDecision
  /** The reason for the decision, if the letter is skipped. */
  readonly reason?: string | undefined
  readonly status: ItemStatus
  /** The cycle number that it was sent as, and the fingerprint before that. The outcome follows from both. */
  readonly cycle?: number | undefined
  readonly fingerprint?: string | undefined
  readonly sentAt?: number | undefined
  /**
   * The kind of route that accepted the event. Without it a `sent` item may not have been sent, so the next runner sends
   * it again. The next runner also repeats `in-process`, because the process that held the event has ended.
   */
  readonly handedOn?: 'durable' | 'in-process' | undefined
  /**
   * The delivery that has the item, if a process of the fleet is to send it. That process sends it only under this id. `none` if
   * no process was given it yet.
   */
  readonly delivery?: string | undefined
  /** The process of the fleet that holds an `in-process` event. The event is sent again when that process is gone. */
  readonly heldBy?: string | undefined
  readonly endedAt?: number | undefined
}

/**
 * planned ─approve▶ approved ─start▶ running ◀─resume─┐
 *                                      │ pause ▶ paused │
 *                                      │ halt rule ▶ halted ─resume▶ running
 *                                      ▼
 *                                   finished          any state before it ─cancel▶ cancelled
 */
export const REPLAY_STATES = [
  'planned',
  'approved',
  'running',
  'paused',
  'halted',
  'finished',
  'cancelled',
] as const
/** The state of a replay. */
export type ReplayState = (typeof REPLAY_STATES)[number]

/** The number of letters of one stage of a replay, or `rest` for all that are left. */
export type Stage = number | 'rest'

/** One operation of a JSON Patch (RFC 6902) on the payload. */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  readonly path: string
  readonly from?: string | undefined
  readonly value?: JsonValue | undefined
}

/** An unfinished replay that has letters in common with a new plan. */
export interface ReplayOverlap {
  readonly replayId: string
  /** The number of letters that both replays have to send. */
  readonly count: number
}

/** The gates that know only what somebody tells them. */
export const ASKED_GATES = ['schema', 'downstream'] as const

/** A process of the fleet that answered for a gate. */
export interface AnsweringProcess {
  readonly id: string
  readonly service: string
  readonly version?: string | undefined
}

/**
 * Who answered for a gate: the process that made the plan, living processes of the fleet, or nobody. After the answer of
 * nobody the letters were not checked. `saidAt` is the time of the oldest answer, by the clock of the planning process.
 */
export type GateAnswer =
  | { readonly answeredBy: 'planner'; readonly saidAt: number }
  | {
      readonly answeredBy: 'fleet'
      readonly saidAt: number
      /** The number of processes that answered. */
      readonly count: number
      /** The first of them. */
      readonly processes: readonly AnsweringProcess[]
    }
  | { readonly answeredBy: 'nobody'; readonly reason: string }

/** Whose word a plan has for a gate, for the letters of one consumer or sink. */
export interface GateCheck {
  readonly gate: (typeof ASKED_GATES)[number]
  readonly channel: string
  /** Absent if the letters go to every handler of the channel, or to a sink. */
  readonly handler?: string | undefined
  readonly sink?: string | undefined
  /** The number of letters that came to this gate. */
  readonly letters: number
  readonly answer: GateAnswer
}

/** A replay: the letters it selects, how it sends them, and its state. */
export interface Replay {
  readonly v: 1
  readonly id: string
  readonly state: ReplayState
  readonly reason: string
  readonly createdAt: number
  readonly createdBy: string
  /** The filter or the ids of the plan request. */
  readonly selectedBy: {
    readonly filter?: LetterFilter | undefined
    readonly ids?: readonly string[] | undefined
  }
  /** The number of frozen letters, and the hash of their ids in order. */
  readonly count: number
  readonly hash: string
  /** The number of letters by decision. */
  readonly findings: { readonly [D in ReplayDecision]?: number }
  readonly stages: readonly Stage[]
  readonly perSecond: number
  readonly halt: { readonly refailRatio: number; readonly onSameFingerprint: boolean }
  readonly to?: string | undefined
  readonly patch?: readonly PatchOperation[] | undefined
  readonly maxAgeMs: number
  readonly allowQuarantined: boolean
  readonly needsApproval: boolean
  /** Letters that no schema has checked are skipped. */
  readonly requireSchema?: boolean | undefined
  /** Whose word the gates of the plan have, and how old it is. Absent in plans of earlier versions. */
  readonly checks?: readonly GateCheck[] | undefined
  /** A schedule planned it, so it sends only letters with `autoReplay: true`. */
  readonly isAutomatic?: boolean | undefined
  /** Other unfinished replays that had some of its letters to send when it was planned; absent when there were none. */
  readonly overlaps?: readonly ReplayOverlap[] | undefined
  readonly approvedBy?: string | undefined
  readonly approvedAt?: number | undefined
  readonly startedAt?: number | undefined
  readonly endedAt?: number | undefined
  /** The current stage, from 0. */
  readonly stage: number
  /** The time of the last resume after a halt. The halt rules count only letters that were sent after it. */
  readonly resumedAt?: number | undefined
  /** The reason of the last change of state, such as a pause or a halt, and the person who made it. */
  readonly stateReason?: string | undefined
  readonly by?: string | undefined
  /**
   * Why no process of the fleet sends the letters of the running replay, and since when, in epoch milliseconds. The reason can
   * quote the error of a process: mask it before it is shown.
   */
  readonly problem?: { readonly reason: string; readonly since: number } | undefined
  /** Increases with every change. An update names the revision that it is based on. */
  readonly revision: number
}

/** The number of items of a replay by status. */
export type ReplayCounts = { readonly [S in ItemStatus]: number }

/** The counts of a replay without items. */
export const NO_COUNTS: ReplayCounts = Object.freeze({
  waiting: 0,
  sent: 0,
  recovered: 0,
  failed_same_cause: 0,
  failed_new_cause: 0,
  skipped: 0,
  lost: 0,
})

/** Selects items of a replay. */
export interface ItemQuery {
  readonly status?: ItemStatus | undefined
  /** Only positions greater than this one. */
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/** What a stored item must be, so that it is replaced. */
export interface ItemCondition {
  /** It names this delivery. */
  readonly delivery?: string | undefined
  readonly status?: ItemStatus | undefined
}

/** The counts that the halt rules use. */
export type Outcomes = Pick<ReplayCounts, 'recovered' | 'failed_same_cause' | 'failed_new_cause'>

/**
 * The store of replays. Every step of a replay is stored, so that another runner can continue after a crash.
 *
 * - `create` is atomic: the replay and all its items, or nothing. It reads the items once, in the order of position; there may be a
 *   million of them, so a store takes some at a time. When its signal aborts before the replay is there, a store rejects with
 *   `PlanCancelledError` and keeps nothing, or it creates the replay anyway.
 * - `update` replaces the replay if its revision is still `replay.revision`, and returns the stored one with the next
 *   revision; otherwise it changes nothing and returns undefined.
 * - `items` is in the order of position. `record` replaces the items given, atomically. With `onlyIf` it replaces only those
 *   whose stored item meets the condition, and leaves the others as they are: a process that was slow does not undo that another
 *   one has the item now.
 * - `lease` gives the replay to one runner at a time. It returns true if the owner has the lease now, or had it already.
 *   Another owner can take an expired lease. `releaseLease` ends a lease early.
 */
export interface Replays {
  create(replay: Replay, items: Iterable<ReplayItem>, signal?: AbortSignal): Promise<void>
  get(id: string): Promise<Replay | undefined>
  list(options?: {
    readonly state?: ReplayState | undefined
    readonly limit?: number | undefined
  }): Promise<readonly Replay[]>
  update(replay: Replay): Promise<Replay | undefined>
  items(id: string, query?: ItemQuery): Promise<readonly ReplayItem[]>
  record(id: string, items: readonly ReplayItem[], onlyIf?: ItemCondition): Promise<void>
  counts(id: string): Promise<ReplayCounts>
  lease(id: string, owner: string, leaseMs: number): Promise<boolean>
  releaseLease(id: string, owner: string): Promise<void>
}
