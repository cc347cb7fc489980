import * as z from 'zod'
import { TRIAGE_STATES } from '../../core/dead-letter/group.ts'
import { auditEntry } from './audit.ts'
import {
  count,
  cursor,
  faults,
  id,
  limit,
  optional,
  optionalText,
  share,
  storeName,
  text,
  time,
  who,
} from './common.ts'
import { category, grouping } from './letters.ts'
import { replaySummary } from './replays.ts'

export const triageState = z.enum(TRIAGE_STATES).describe('The triage state of the group.')
export type TriageState = z.infer<typeof triageState>

export const groupSort = z
  .enum(['regressed', 'new', 'rate', 'recent'])
  .describe(
    'The order. `regressed`: regressed groups, then groups of the last 24 hours, then the highest rate. `new`: the newest group first. `rate`: the highest rate first. `recent`: the latest failure first.',
  )
export type GroupSort = z.infer<typeof groupSort>

export const groupNote = z.object({
  at: time.describe('The time of the note.'),
  by: who.describe('The name of the person who wrote the note.'),
  text: text('The text of the note.'),
})
export type GroupNote = z.infer<typeof groupNote>

export const group = grouping.extend({
  store: storeName,
  category,
  channels: z
    .array(z.string())
    .describe('The channels of the letters, those with the most letters first. The list is bounded.'),
  count: count.describe('The number of letters in the group.'),
  waiting: count.describe('The number of letters that are dead, quarantined or parked.'),
  firstSeenAt: time.describe('The time of the first failure.'),
  lastSeenAt: time.describe('The time of the last failure.'),
  replayed: count.describe('The number of letters that were replayed.'),
  recovered: count.describe('The number of replayed letters that are resolved.'),
  state: triageState,
  regressed: z.boolean().describe('Whether the group was resolved and has received a new failure since.'),
  owner: optionalText('The owner of the group. Absent when there is none.'),
  link: optionalText('A link that a person set, such as an issue. Absent when there is none.'),
  mutedUntil: optional(time, 'The time at which the mute ends. Absent in other states.'),
  setAt: optional(time, 'The time at which a person set the state. Absent before the first time.'),
  setBy: optionalText('The name of the person who set the state.'),
  notes: z.array(groupNote).describe('The notes of people on the group.'),
  sparkline: z
    .array(count)
    .length(24)
    .describe(
      'The number of letters by the hour of their last failure: the last 24 hours, oldest hour first.',
    ),
  rate: count.describe('The number of letters whose last failure is in the last hour of the sparkline.'),
})
export type Group = z.infer<typeof group>

export const groupQuery = z.strictObject({
  state: optional(triageState, 'Only groups in this state.'),
  channel: optional(z.string().min(1).max(500), 'Only groups with letters of this channel.'),
  search: optional(z.string().min(1).max(500), 'Only groups with this text in their title or basis.'),
  store: optional(storeName, 'Only this store. The default is all stores.'),
  sort: groupSort.default('regressed'),
  limit: limit(200, 50),
  cursor: cursor.optional(),
})

export const groupPage = z.object({
  groups: z.array(group).describe('The groups of this page.'),
  cursor: cursor.optional(),
  faults,
})
export type GroupPage = z.infer<typeof groupPage>

/** The most frequent values of one field in a sample of the latest letters. */
export const commonValue = z.object({
  field: z
    .enum(['channel', 'type', 'handler', 'reason', 'release', 'host', 'key'])
    .describe('The field of the letters.'),
  values: z
    .array(
      z.object({
        value: text('The value, masked.'),
        share: share.describe('The share of the sample that has this value, from 0 to 1.'),
      }),
    )
    .describe('The most frequent values first.'),
})
export type CommonValue = z.infer<typeof commonValue>

export const groupDetail = group.extend({
  commonValues: z.array(commonValue).describe('The values that letters of the group have in common.'),
  sampled: count.describe('The number of letters in the sample for the common values.'),
  sampleLetterId: optional(id, 'The id of the latest letter. Absent when the group has none.'),
  replays: z
    .array(replaySummary)
    .describe('The latest replays that sent letters of the group, newest first. The list is bounded.'),
  audit: z.array(auditEntry).describe('The latest audit entries of the group, newest first.'),
})
export type GroupDetail = z.infer<typeof groupDetail>

/** Absent fields stay as they are. */
export const groupPatch = z
  .strictObject({
    state: optional(triageState, 'The new state.'),
    mutedUntil: optional(
      time,
      'The time at which the mute ends. Required with `muted`, refused with other states.',
    ),
    owner: optional(z.string().trim().min(1).max(200).nullable(), 'The new owner; null removes the owner.'),
    link: optional(
      z
        .url({ protocol: /^https?$/ })
        .max(2_000)
        .nullable(),
      'The new link, `http` or `https`; null removes the link.',
    ),
    note: optional(z.string().trim().min(1).max(4_000), 'A note to add.'),
  })
  .refine(change => Object.keys(change).length > 0, 'give at least one of state, owner, link, note')
  .refine(
    ({ state, mutedUntil }) => (state === 'muted') === (mutedUntil !== undefined),
    "give mutedUntil with the state 'muted', and only then",
  )
export type GroupPatch = z.infer<typeof groupPatch>
