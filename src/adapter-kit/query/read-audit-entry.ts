import { isPlainObject } from '../../core/event/plain.ts'
import type { AuditEntry } from '../../ports/audit.ts'

/**
 * Reads an entry of the audit log that a store keeps as JSON. Undefined for any other text: one entry that another program wrote must
 * not hide all others.
 */
export function readAuditEntry(text: string): AuditEntry | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isPlainObject(value) || !Number.isFinite(value['at'])) return undefined
  const { by, action, target, detail } = value
  const hasTexts = [by, action, target].every(part => typeof part === 'string')
  return hasTexts && (detail === undefined || isPlainObject(detail))
    ? (value as unknown as AuditEntry)
    : undefined
}
