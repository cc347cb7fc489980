// The audit of a store whose letters are sealed: the text of a search is often copied from a payload or a key.
import type { AuditEntry, AuditLog } from '../../ports/audit.ts'
import type { TextCodec } from '../../ports/codec.ts'
import { withDisclosing } from '../query/letter-query.ts'

/**
 * Writes the text that was searched for by a codec, and reads it as it was: who may reveal payloads is still told what
 * others searched for. Without a codec of texts the audit is the store's own.
 */
export function sealedAudit(audit: AuditLog, texts: TextCodec | undefined): AuditLog {
  if (texts === undefined) return audit
  return {
    append: entry => audit.append(withSearch(entry, texts.encode)),
    async list(query) {
      const page = await audit.list(query)
      return { ...page, entries: page.entries.map(entry => withSearch(entry, texts.decode)) }
    },
  }
}

function withSearch(entry: AuditEntry, ofText: (text: string) => string): AuditEntry {
  return entry.detail === undefined ? entry : { ...entry, detail: withDisclosing(entry.detail, ofText) }
}
