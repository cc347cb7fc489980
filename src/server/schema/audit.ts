import * as z from 'zod'
import { cursor, faults, json, limit, storeName, time, who } from './common.ts'

export const auditEntry = z.object({
  store: storeName,
  at: time,
  by: who,
  /** Such as `letter.discard`, `replay.start`, `payload.reveal`. */
  action: z.string(),
  /** A letter, group or replay id, a channel, or a filter in words. */
  target: z.string(),
  detail: z.record(z.string(), json).optional(),
})
export type AuditEntry = z.infer<typeof auditEntry>

export const auditQuery = z.strictObject({
  target: z.string().min(1).max(500).optional(),
  action: z.string().min(1).max(100).optional(),
  store: storeName.optional(),
  limit: limit(500, 100),
  cursor: cursor.optional(),
})

export const auditPage = z.object({ entries: z.array(auditEntry), cursor: cursor.optional(), faults })
export type AuditPage = z.infer<typeof auditPage>
