import * as z from 'zod'
import { cursor, faults, json, limit, optional, storeName, text, time, who } from './common.ts'

export const auditEntry = z.object({
  store: storeName,
  at: time.describe('The time of the action.'),
  by: who.describe('The name of the token, person or program that acted.'),
  action: text('The action, such as `letter.discard`, `replay.start` or `payload.reveal`.'),
  target: text(
    'The object of the action: the id of a letter, group or replay, a channel, or a filter in words.',
  ),
  detail: optional(
    z.record(z.string(), json),
    'Further facts about the action, such as its reason. Absent when there are none.',
  ),
})
export type AuditEntry = z.infer<typeof auditEntry>

export const auditQuery = z.strictObject({
  by: optional(z.string().min(1).max(200), 'Only entries of this token, person or program.'),
  target: optional(z.string().min(1).max(500), 'Only entries with this target.'),
  action: optional(z.string().min(1).max(100), 'Only entries with this action.'),
  store: optional(storeName, 'Only this store. The default is all stores.'),
  limit: limit(500, 100),
  cursor: cursor.optional(),
})

export const auditPage = z.object({
  entries: z.array(auditEntry).describe('The entries of this page, newest first.'),
  cursor: cursor.optional(),
  faults,
})
export type AuditPage = z.infer<typeof auditPage>
