import * as z from 'zod'
import { count, faults, optional, optionalText, reason, text, time } from './common.ts'
import { letterFilter, letterState, oneStore, stillBlocked } from './letters.ts'

const PREVIEW_FIRST = 'send POST to the same path with /preview first, and copy the value from its answer'

export const bulkPreviewBody = z.strictObject({
  filter: letterFilter.describe('The letters to work on.'),
  store: oneStore,
})
export type BulkPreviewBody = z.infer<typeof bulkPreviewBody>

/** The letters that an action would work on now. */
export const bulkPreview = z.object({
  count: count.describe('The number of letters that the action would work on.'),
  byState: z.partialRecord(letterState, count).describe('The number of these letters by state.'),
  until: time.describe('The time of the count. The action leaves letters alone that fail later.'),
  digest: text('A digest of the ids and states of these letters. The action needs it.'),
})
export type BulkPreview = z.infer<typeof bulkPreview>

export const bulkBody = z.strictObject({
  ...bulkPreviewBody.shape,
  expectedCount: count.describe('The `count` of the preview. Nothing is done when the number has changed.'),
  byState: optional(
    z.partialRecord(letterState, count),
    'The `byState` of the preview. With it, a refusal says what has changed.',
  ),
  until: z.iso.datetime({ offset: true, error: PREVIEW_FIRST }).describe('The `until` of the preview.'),
  digest: z
    .string({ error: PREVIEW_FIRST })
    .max(200)
    .describe('The `digest` of the preview. Nothing is done when the letters or their states have changed.'),
  reason,
})
export type BulkBody = z.infer<typeof bulkBody>

export const assignBody = bulkBody.extend({
  owner: z.string().trim().min(1).max(200).describe('The person who owns the groups of the letters.'),
})
export type AssignBody = z.infer<typeof assignBody>

export const exportBody = bulkBody.extend({
  format: z
    .enum(['csv', 'jsonl'])
    .describe(
      '`csv` for spreadsheets: texts that a spreadsheet would run begin with an apostrophe. `jsonl` for programs.',
    ),
})
export type ExportBody = z.infer<typeof exportBody>

/** With several stores, one may fail after another has done its part. */
export const bulkDone = z.object({
  deleted: optional(count, 'The number of deleted letters. When `faults` is present, more may be deleted.'),
  changed: optional(
    count,
    'The number of letters that a discard, release or assign has changed or whose group it has assigned.',
  ),
  exported: optional(count, 'The number of exported letters.'),
  text: optionalText(
    'The exported letters. Absent for JSON lines of progress, which have it in their parts.',
  ),
  stillBlocked: optional(
    stillBlocked,
    'The discarded letters whose keys are, or may be, still blocked: their brokers are not configured here or did not answer. Absent when there are none.',
  ),
  cancelled: optional(z.literal(true), 'The client closed the connection, and the other letters stay.'),
  faults,
})
export type BulkDone = z.infer<typeof bulkDone>

/** One line of an action that is answered as JSON lines: the progress after a batch, or at the end the result. */
export type BulkLine =
  | {
      readonly deleted?: number
      readonly changed?: number
      readonly exported?: number
      readonly of: number
      /** The letters that were exported since the last line. */
      readonly text?: string
    }
  | { readonly done: BulkDone }
  | { readonly failed: string }
