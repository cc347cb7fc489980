import * as z from 'zod'
import { ASKED_GATES, ITEM_STATUSES, REPLAY_DECISIONS, REPLAY_STATES } from '../../ports/replays.ts'
import {
  count,
  faults,
  id,
  json,
  limit,
  optional,
  optionalText,
  reason,
  share,
  storeName,
  text,
  time,
  who,
} from './common.ts'
import { letterFilter, shownFilter } from './letters.ts'

export const replayState = z.enum(REPLAY_STATES).describe('The state of the replay.')
export type ReplayState = z.infer<typeof replayState>

export const replayDecision = z
  .enum(REPLAY_DECISIONS)
  .describe('The decision of the gates: send the letter, or skip it for this reason.')
export type ReplayDecision = z.infer<typeof replayDecision>

export const itemStatus = z
  .enum(ITEM_STATUSES)
  .describe(
    'The status of the letter in the replay. `waiting`: not sent. `sent`: no outcome yet. `lost`: deleted after it was sent. The others are outcomes.',
  )
export type ItemStatus = z.infer<typeof itemStatus>

/** One operation of a JSON Patch (RFC 6902) on the payload. */
export const patchOperation = z.strictObject({
  op: z.enum(['add', 'remove', 'replace', 'move', 'copy', 'test']).describe('The operation.'),
  path: z.string().max(2_000).describe('A JSON Pointer to the value, such as `/amount`.'),
  from: optional(z.string().max(2_000), 'A JSON Pointer to the source of `move` and `copy`.'),
  value: optional(json, 'The value of `add`, `replace` and `test`.'),
})
export type PatchOperation = z.infer<typeof patchOperation>

const stages = z.array(z.union([z.int().min(1), z.literal('rest')]))
const STAGES = 'The number of letters in each stage; `rest` is all that are left.'
const patch = z
  .array(patchOperation)
  .min(1)
  .max(100)
  .describe(
    'A JSON Patch (RFC 6902) for the payload of every letter. Absent when the payload stays as it is.',
  )
const ids = z.array(id.describe('The id of a letter.')).min(1).max(10_000)

/** A replay in a list: its state, its counts and its approval. */
export const replaySummary = z.object({
  id: id.describe('The id of the replay.'),
  store: storeName,
  state: replayState,
  reason: text('The reason for the replay.'),
  createdAt: time.describe('The time of the plan.'),
  createdBy: who.describe('The name of the planner.'),
  count: count.describe('The number of letters in the plan.'),
  hash: text('The hash of the letter ids in order. Plans with one hash have the same letters.'),
  findings: z
    .partialRecord(replayDecision, count)
    .describe('The number of letters by decision of the gates.'),
  counts: z.record(itemStatus, count).describe('The number of letters by status.'),
  recoveredShare: optional(
    share,
    'The share of the letters that recovered, of those that recovered or failed again. Absent before the first.',
  ),
  stages: stages.describe(STAGES),
  stage: z.int().describe('The current stage, from 0.'),
  startedAt: optional(time, 'The time of the start. Absent before the start.'),
  endedAt: optional(time, 'The time of the end. Absent before the end.'),
  stateReason: optionalText('The reason of the last change of state: a pause, a halt, a cancellation.'),
  by: optional(who, 'The name of the person who made the last change of state.'),
  needsApproval: z.boolean().describe('Whether a second person must approve the replay.'),
  approvedBy: optional(who, 'The name of the approver. Absent before the approval.'),
  approvedAt: optional(time, 'The time of the approval. Absent before the approval.'),
})
export type ReplaySummary = z.infer<typeof replaySummary>

export const replayVerb = z.enum(['approve', 'start', 'pause', 'resume', 'cancel'])
export type ReplayVerb = z.infer<typeof replayVerb>

/** Whether the caller may do it now. */
export const permission = z.object({
  allowed: z.boolean().describe('Whether the caller may do this now.'),
  reason: optionalText('The reason why the caller may not. Absent when it is allowed.'),
})
export type Permission = z.infer<typeof permission>

const gateAnswer = z.discriminatedUnion('answeredBy', [
  z.object({
    answeredBy: z.literal('planner').describe('The process that made the plan.'),
    saidAt: time.describe('The time of the answer.'),
  }),
  z.object({
    answeredBy: z.literal('fleet').describe('Living processes of the fleet.'),
    saidAt: time.describe('The time of the oldest answer or report.'),
    count: count.describe('The number of processes that answered.'),
    processes: z
      .array(
        z.object({
          id: id.describe('The id of the process.'),
          service: text('The service of the process.'),
          version: optionalText('The version of the service. Absent when the process does not report one.'),
        }),
      )
      .describe('The first of the processes.'),
  }),
  z.object({
    answeredBy: z.literal('nobody').describe('Nobody: the letters were not checked.'),
    reason: text('The reason why nobody answered, masked.'),
  }),
])

/** Whose word a gate has for the letters of one consumer or sink. */
export const gateCheck = z.object({
  gate: z.enum(ASKED_GATES).describe('The gate.'),
  channel: text('The channel of the letters.'),
  handler: optionalText(
    'The handler whose schema was asked. Absent for a sink, and when no handler is known.',
  ),
  sink: optionalText('The sink of the letters. Absent for letters of consumers.'),
  letters: count.describe('The number of letters that came to the gate.'),
  answer: gateAnswer.describe('Who answered, and when.'),
})
export type GateCheck = z.infer<typeof gateCheck>

export const replay = replaySummary.extend({
  selectedBy: z
    .object({
      filter: optional(shownFilter, 'The filter of the plan. Absent for a plan of ids.'),
      ids: optional(z.array(id), 'The letter ids of the plan. Absent for a plan with a filter.'),
    })
    .describe('The selection of the plan.'),
  perSecond: z.number().describe('The number of events that the replay sends in a second.'),
  halt: z
    .object({
      refailRatio: share.describe('The replay halts when a larger share of its letters fails again.'),
      onSameFingerprint: z
        .boolean()
        .describe(
          'Whether the replay halts when a letter fails with its old cause before any has recovered.',
        ),
    })
    .describe('The halt rules.'),
  to: optionalText('The channel to send to. Absent for the channel of each letter.'),
  patch: patch.optional(),
  maxAgeMs: z
    .number()
    .describe(
      'The gates skip letters this long after their first failure, in milliseconds, unless the event has its own expiry.',
    ),
  allowQuarantined: z.boolean().describe('Whether the replay sends quarantined letters.'),
  requireSchema: optional(z.boolean(), 'Whether the replay skips letters that no schema has checked.'),
  checks: optional(
    z.array(gateCheck),
    'Whose word the schema gate and the downstream gate have, for each consumer and sink. Absent in plans of earlier versions.',
  ),
  overlaps: optional(
    z.array(
      z.object({
        replayId: id.describe('The id of the other replay.'),
        count: count.describe('The number of letters that both replays have to send.'),
      }),
    ),
    'Other unfinished replays that had some of its letters to send when it was planned. Absent when there were none.',
  ),
  problem: optional(
    z.object({
      reason: text('The reason, masked.'),
      since: time.describe('The time of the first failure.'),
    }),
    'Why no process of the fleet sends the letters of the running replay. Absent when there is no such problem.',
  ),
  recoveredSince: optional(
    z.object({
      letters: count.describe('The number of these letters that are resolved now.'),
      of: count.describe(
        'The number of letters that were looked at: at most 100 that the replay has not recovered.',
      ),
    }),
    'Letters of a halted or paused replay that have recovered without it, such as by another replay. Absent when there are none.',
  ),
  rate: optional(
    z.number(),
    'The number of letters sent in a second, over the last minute. Absent while the replay does not run.',
  ),
  arrivedSincePlan: optional(
    count,
    'The number of letters that match the filter and failed after the plan. Absent for a plan of ids.',
  ),
  command: text('The command line that plans the same replay.'),
  can: z.record(replayVerb, permission).describe('The permission of the caller for each verb.'),
})
export type Replay = z.infer<typeof replay>

export const replayQuery = z.strictObject({
  state: optional(replayState, 'Only replays in this state.'),
  store: optional(storeName, 'Only this store. The default is all stores.'),
  limit: limit(200, 50),
})

export const replayList = z.object({
  replays: z.array(replaySummary).describe('The replays, newest first.'),
  faults,
})
export type ReplayList = z.infer<typeof replayList>

/** The letters of a plan, and the changes to them. */
const selection = z.strictObject({
  filter: optional(letterFilter, 'Selects letters by their fields. Give a filter or ids, not both.'),
  ids: optional(ids, 'Selects letters by their ids. Give a filter or ids, not both.'),
  store: optional(
    storeName,
    'The store of the letters. A filter needs it when the server has several stores.',
  ),
  to: optional(
    z.string().min(1).max(200),
    'The channel to send to. The default is the channel of each letter.',
  ),
  patch: patch.optional(),
})
const isOneOf = ({ filter, ids }: z.infer<typeof selection>) => (filter === undefined) !== (ids === undefined)
const ONE_OF = 'give a filter or ids, not both'

/** Asks for a plan. A plan sends nothing. The defaults are those of the server's configuration, else of the library. */
export const planBody = selection
  .extend({
    reason,
    stages: optional(stages.min(1).max(50), `${STAGES} The default is 1, 10, 100, rest.`),
    perSecond: optional(
      z.number().positive().max(100_000),
      'The number of events to send in a second. The default is 50.',
    ),
    haltRefailRatio: optional(
      share,
      'Halts the replay when a larger share of its letters fails again, from 0 to 1. The default is 0.2.',
    ),
    haltOnSameFingerprint: optional(
      z.boolean(),
      'Halts the replay when a letter fails with its old cause before any has recovered. The default is true.',
    ),
    maxAgeMs: optional(
      z.number().positive().max(Number.MAX_SAFE_INTEGER),
      'The gates skip letters this long after their first failure, in milliseconds, unless the event has its own expiry. The default is 86400000: one day.',
    ),
    allowQuarantined: optional(z.boolean(), 'Sends quarantined letters too. The default is false.'),
    requireSchema: optional(
      z.boolean(),
      'Skips letters that no schema has checked. Without it they are sent, and their consumer checks them. The default is false.',
    ),
    needsApproval: optional(
      z.boolean(),
      'A second person must approve the replay. False has no effect on a server that requires approval.',
    ),
  })
  .refine(isOneOf, ONE_OF)
export type PlanBody = z.infer<typeof planBody>

/** A line of a plan that is answered as JSON lines: on how many letters the gates have decided, of how many if that is known. */
export interface PlanProgress {
  readonly checked: number
  readonly of?: number | undefined
}

/** The last line has the replay, or why nothing was planned. */
export type PlanLine = PlanProgress | { readonly done: Replay } | { readonly failed: string }

export const previewBody = selection.refine(isOneOf, ONE_OF)
export type PreviewBody = z.infer<typeof previewBody>

export const preview = z.object({
  samples: z
    .array(
      z.object({
        letterId: id.describe('The id of the letter.'),
        store: storeName,
        before: json.describe('The payload of the letter, masked.'),
        after: optional(json, 'The payload after the patch, masked. Absent when the patch does not fit.'),
        fault: optionalText('The error of the patch or of the patched payload. Absent when there is none.'),
      }),
    )
    .describe('The first few letters of the selection.'),
  notChecked: optionalText('Why no schema has checked payloads. Absent when all were checked.'),
})
export type Preview = z.infer<typeof preview>

export const replayItem = z.object({
  position: count.describe('The position in the order of sending, from 0.'),
  letterId: id.describe('The id of the letter.'),
  decision: replayDecision,
  reason: optionalText('The reason for skipping the letter. Absent when it is not skipped.'),
  status: itemStatus,
  cycle: optional(z.int(), 'The cycle of the letter that this replay began. Absent before it is sent.'),
  sentAt: optional(time, 'The time of sending. Absent before it is sent.'),
  endedAt: optional(time, 'The time of the outcome. Absent before the outcome.'),
})
export type ReplayItem = z.infer<typeof replayItem>

/** A position is a whole number of 32 bits in every store. */
const MAX_POSITION = 2 ** 31 - 1

export const itemQuery = z.strictObject({
  status: optional(itemStatus, 'Only letters with this status.'),
  after: optional(
    z.coerce.number().int().min(-1).max(MAX_POSITION),
    'Only positions after this one. The default is the begin.',
  ),
  limit: limit(500, 100),
})

export const itemPage = z.object({
  items: z.array(replayItem).describe('The letters of this page, in the order of sending.'),
  after: optional(
    count,
    'The last position of this page: the `after` of the next page. Absent on the last page.',
  ),
})
export type ItemPage = z.infer<typeof itemPage>

/** The decisions of the gates at the time of the plan. */
export const findings = z.object({
  findings: z
    .array(
      z.object({
        decision: replayDecision,
        count: count.describe('The number of letters with this decision.'),
        reasons: z
          .array(
            z.object({
              reason: text('The reason, masked.'),
              count: count.describe('The number of sampled letters with this reason.'),
            }),
          )
          .describe('The most frequent reasons first.'),
        sampleLetterIds: z.array(id).describe('The ids of a few letters with this decision.'),
      }),
    )
    .describe('The decisions with their letters.'),
  sampled: count.describe('The number of skipped letters from which the reasons are counted.'),
})
export type Findings = z.infer<typeof findings>

export const controlBody = z.strictObject({
  reason: optional(
    z.string().trim().min(1).max(1_000),
    'The reason for the change. The audit log records it.',
  ),
})
