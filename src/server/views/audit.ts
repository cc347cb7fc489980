import { MASK } from '../../core/dead-letter/mask-text.ts'
import { hideSearch } from '../../operations/filter-words.ts'
import type { AuditEntry } from '../../ports/audit.ts'
import type { AuditEntry as EntryJson } from '../schema/audit.ts'
import { iso, type Json } from '../schema/common.ts'

/** The actions whose target is a filter. Only in theirs an earlier version may have written a search. */
const BY_FILTER = /^(letters\.(purge|export)|payload\.reveal)(\.|$)/

/** What somebody searched for may be what others may not see: it is shown to those who may reveal it. */
export function auditView(
  store: string,
  { at, by, action, target, detail }: AuditEntry,
  mayReveal: boolean,
): EntryJson {
  const hides = detail?.['search'] !== undefined && !mayReveal
  const shown = hides ? { ...detail, search: MASK } : detail && { ...detail }
  return {
    store,
    at: iso(at),
    by,
    action,
    target: BY_FILTER.test(action) && !mayReveal ? hideSearch(target) : target,
    detail: shown as Record<string, Json> | undefined,
  }
}
