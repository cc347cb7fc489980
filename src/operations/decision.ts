import type { AuditEntry } from '../ports/audit.ts'

/** Who decides, when and why. */
export interface Decision {
  readonly by: string
  readonly at: number
  readonly note?: string | undefined
}

export function entryOf(action: string, target: string, { at, by, note }: Decision): AuditEntry {
  return { at, by, action, target, ...(note === undefined ? {} : { detail: { note } }) }
}
