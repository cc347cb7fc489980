import { withDisclosing } from '../../adapter-kit/query/letter-query.ts'
import { MASK } from '../../core/dead-letter/mask-text.ts'
import { hideSearch } from '../../operations/filter-text.ts'
import type { AuditEntry } from '../../ports/audit.ts'
import type { AuditEntry as EntryJson } from '../schema/audit.ts'
import { iso, type Json } from '../schema/common.ts'

/** The actions whose target is a filter. Earlier versions may have written a search text into it. */
const BY_FILTER = /^(letters\.(purge|export)|payload\.reveal)(\.|$)/

/** Hides the search text from callers who may not reveal payloads, because it may be a masked value. */
export function auditView(
  store: string,
  { at, by, action, target, detail }: AuditEntry,
  mayReveal: boolean,
): EntryJson {
  const shown = detail && (mayReveal ? { ...detail } : withDisclosing(detail, () => MASK))
  return {
    store,
    at: iso(at),
    by,
    action,
    target: BY_FILTER.test(action) && !mayReveal ? hideSearch(target) : target,
    detail: shown as Record<string, Json> | undefined,
  }
}
