import type { AuditEntry } from '../../ports/audit.ts'
import type { AuditEntry as EntryOutside } from '../schema/audit.ts'
import type { Json } from '../schema/common.ts'
import { iso } from './times.ts'

export function auditView(store: string, { at, by, action, target, detail }: AuditEntry): EntryOutside {
  return { store, at: iso(at), by, action, target, detail: detail && ({ ...detail } as Record<string, Json>) }
}
