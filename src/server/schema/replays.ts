import * as z from 'zod'
import { ITEM_STATUSES, REPLAY_DECISIONS, REPLAY_STATES } from '../../ports/replays.ts'
import { count, faults, id, json, limit, reason, share, storeName, time, who } from './common.ts'
import { letterFilter } from './letters.ts'

export const replayState = z.enum(REPLAY_STATES)
export type ReplayState = z.infer<typeof replayState>

export const replayDecision = z.enum(REPLAY_DECISIONS)
export type ReplayDecision = z.infer<typeof replayDecision>

export const itemStatus = z.enum(ITEM_STATUSES)
export type ItemStatus = z.infer<typeof itemStatus>

/** One operation of a JSON Patch (RFC 6902) on the payload. */
export const patchOperation = z.strictObject({
  op: z.enum(['add', 'remove', 'replace', 'move', 'copy', 'test']),
  path: z.string().max(2_000),
  from: z.string().max(2_000).optional(),
  value: json.optional(),
})
export type PatchOperation = z.infer<typeof patchOperation>

const stages = z.array(z.union([z.int().min(1), z.literal('rest')]))
const patch = z.array(patchOperation).min(1).max(100)
const ids = z.array(id).min(1).max(10_000)

/** What was asked for, ids or a filter, and how many letters got which decision. */
export const replaySummary = z.object({
  id,
  store: storeName,
  state: replayState,
  reason: z.string(),
  createdAt: time,
  createdBy: who,
  count,
  /** Of the ids in order: two plans with one hash send the same letters. */
  hash: z.string(),
  findings: z.partialRecord(replayDecision, count),
  /** How many letters stand where. */
  counts: z.record(itemStatus, count),
  /** Of those with an outcome, the ones that are well again; absent before the first. */
  recoveredShare: share.optional(),
  stages,
  /** The stage under way, from 0. */
  stage: z.int(),
  startedAt: time.optional(),
  endedAt: time.optional(),
  /** Why it is paused, halted or cancelled, and by whom. */
  why: z.string().optional(),
  by: who.optional(),
  needsApproval: z.boolean(),
  approvedBy: who.optional(),
  approvedAt: time.optional(),
})
export type ReplaySummary = z.infer<typeof replaySummary>

export const replayVerb = z.enum(['approve', 'start', 'pause', 'resume', 'cancel'])
export type ReplayVerb = z.infer<typeof replayVerb>

/** Whether the one who asks may do it now, and if not, why. */
export const permission = z.object({ allowed: z.boolean(), why: z.string().optional() })
export type Permission = z.infer<typeof permission>

export const replay = replaySummary.extend({
  selectedBy: z.object({ filter: letterFilter.optional(), ids: z.array(id).optional() }),
  perSecond: z.number(),
  halt: z.object({ refailRatio: share, onSameFingerprint: z.boolean() }),
  to: z.string().optional(),
  patch: patch.optional(),
  maxAgeMs: z.number(),
  allowQuarantined: z.boolean(),
  /** Letters sent in the last minute, per second; absent while it is not running. */
  rate: z.number().optional(),
  /** Letters that match its filter now and died after it was planned; absent for one made of ids. */
  arrivedSincePlan: count.optional(),
  /** The line that plans the same on the command line. */
  command: z.string(),
  can: z.record(replayVerb, permission),
})
export type Replay = z.infer<typeof replay>

export const replayQuery = z.strictObject({
  state: replayState.optional(),
  store: storeName.optional(),
  limit: limit(200, 50),
})

export const replayList = z.object({ replays: z.array(replaySummary), faults })
export type ReplayList = z.infer<typeof replayList>

/** Which letters are meant, and what is made of them. */
const selection = z.strictObject({
  filter: letterFilter.optional(),
  ids: ids.optional(),
  store: storeName.optional(),
  to: z.string().min(1).max(200).optional(),
  patch: patch.optional(),
})
const isOneOf = ({ filter, ids }: z.infer<typeof selection>) => (filter === undefined) !== (ids === undefined)
const ONE_OF = 'give a filter or ids, not both'

/** Asks for a plan. Nothing is sent by it. Give a filter or ids, not both; with several stores, `store` for a filter. */
export const planBody = selection
  .extend({
    reason,
    stages: stages.min(1).max(50).optional(),
    perSecond: z.number().positive().max(100_000).optional(),
    haltRefailRatio: share.optional(),
    haltOnSameFingerprint: z.boolean().optional(),
    maxAgeMs: z.number().positive().max(Number.MAX_SAFE_INTEGER).optional(),
    allowQuarantined: z.boolean().optional(),
    /** A second person has to approve it; where the server asks for that it cannot be switched off. */
    needsApproval: z.boolean().optional(),
  })
  .refine(isOneOf, ONE_OF)
export type PlanBody = z.infer<typeof planBody>

export const previewBody = selection.refine(isOneOf, ONE_OF)
export type PreviewBody = z.infer<typeof previewBody>

/** A few letters as they are and as they would be sent, both masked. */
export const preview = z.object({
  samples: z.array(
    z.object({
      letterId: id,
      store: storeName,
      before: json,
      /** Absent when the patch does not fit. */
      after: json.optional(),
      /** What is wrong with the patch or with the payload it makes. */
      fault: z.string().optional(),
    }),
  ),
})
export type Preview = z.infer<typeof preview>

export const replayItem = z.object({
  position: count,
  letterId: id,
  decision: replayDecision,
  why: z.string().optional(),
  status: itemStatus,
  cycle: z.int().optional(),
  sentAt: time.optional(),
  endedAt: time.optional(),
})
export type ReplayItem = z.infer<typeof replayItem>

/** A position is a whole number of 32 bits in every store. */
const MAX_POSITION = 2 ** 31 - 1

export const itemQuery = z.strictObject({
  status: itemStatus.optional(),
  /** Positions behind this one. */
  after: z.coerce.number().int().min(-1).max(MAX_POSITION).optional(),
  limit: limit(500, 100),
})

export const itemPage = z.object({
  items: z.array(replayItem),
  /** Give it as `after` for the next page; absent on the last. */
  after: count.optional(),
})
export type ItemPage = z.infer<typeof itemPage>

/** What the gates said when it was planned, each with the reasons given most and a few letters. */
export const findings = z.object({
  findings: z.array(
    z.object({
      decision: replayDecision,
      count,
      reasons: z.array(z.object({ why: z.string(), count })),
      sampleLetterIds: z.array(id),
    }),
  ),
  /** How many skipped letters the reasons were told by. */
  sampled: count,
})
export type Findings = z.infer<typeof findings>

export const controlBody = z.strictObject({ why: z.string().trim().min(1).max(1_000).optional() })
