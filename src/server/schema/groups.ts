import * as z from 'zod'
import { TRIAGE_STATES } from '../../core/dead-letter/group.ts'
import { auditEntry } from './audit.ts'
import { count, cursor, faults, id, limit, share, storeName, time, who } from './common.ts'
import { category, grouping } from './letters.ts'
import { replaySummary } from './replays.ts'

export const triageState = z.enum(TRIAGE_STATES)
export type TriageState = z.infer<typeof triageState>

/** `regressed`: those that came back, then new ones, then by rate. `recent`: last seen first. */
export const groupSort = z.enum(['regressed', 'new', 'rate', 'recent'])
export type GroupSort = z.infer<typeof groupSort>

export const groupNote = z.object({ at: time, by: who, text: z.string() })
export type GroupNote = z.infer<typeof groupNote>

export const group = grouping.extend({
  store: storeName,
  category,
  /** Most letters first, bounded. */
  channels: z.array(z.string()),
  /** Letters, and of those the ones that still wait for someone. */
  count,
  waiting: count,
  firstSeenAt: time,
  lastSeenAt: time,
  replayed: count,
  recovered: count,
  state: triageState,
  /** Resolved, and came back. */
  regressed: z.boolean(),
  owner: z.string().optional(),
  link: z.string().optional(),
  mutedUntil: time.optional(),
  setAt: time.optional(),
  setBy: z.string().optional(),
  notes: z.array(groupNote),
  /** Letters by the hour of their last failure: the last 24 hours, oldest first. */
  sparkline: z.array(count).length(24),
  /** Letters that last failed within the last hour. */
  rate: count,
})
export type Group = z.infer<typeof group>

export const groupQuery = z.strictObject({
  state: triageState.optional(),
  channel: z.string().min(1).max(500).optional(),
  search: z.string().min(1).max(500).optional(),
  store: storeName.optional(),
  sort: groupSort.default('regressed'),
  limit: limit(200, 50),
  cursor: cursor.optional(),
})

export const groupPage = z.object({ groups: z.array(group), cursor: cursor.optional(), faults })
export type GroupPage = z.infer<typeof groupPage>

/** What its letters have in common, told by a sample of the latest. */
export const commonValue = z.object({
  field: z.enum(['channel', 'type', 'handler', 'reason', 'release', 'host', 'key']),
  /** Most frequent first. */
  values: z.array(z.object({ value: z.string(), share })),
})
export type CommonValue = z.infer<typeof commonValue>

export const groupDetail = group.extend({
  commonValues: z.array(commonValue),
  /** How many letters the common values were told by. */
  sampled: count,
  sampleLetterId: id.optional(),
  /** Those that touched it, newest first, bounded. */
  replays: z.array(replaySummary),
  /** Newest first. */
  audit: z.array(auditEntry),
})
export type GroupDetail = z.infer<typeof groupDetail>

/** Fields that are left out stay as they are; null removes a value. */
export const groupPatch = z
  .strictObject({
    state: triageState.optional(),
    /** Only with the state `muted`. */
    mutedUntil: time.optional(),
    owner: z.string().trim().min(1).max(200).nullable().optional(),
    link: z
      .url({ protocol: /^https?$/ })
      .max(2_000)
      .nullable()
      .optional(),
    note: z.string().trim().min(1).max(4_000).optional(),
  })
  .refine(change => Object.keys(change).length > 0, 'give at least one of state, owner, link, note')
  .refine(
    ({ state, mutedUntil }) => (state === 'muted') === (mutedUntil !== undefined),
    "give mutedUntil with the state 'muted', and only then",
  )
export type GroupPatch = z.infer<typeof groupPatch>
