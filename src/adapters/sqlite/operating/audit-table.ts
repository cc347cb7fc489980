import type { DatabaseSync } from 'node:sqlite'
import { NO_TALK, talkAfter } from '../../../adapter-kit/query/group-query.ts'
import type { AuditEntry } from '../../../ports/audit.ts'
import type { TriageChange } from '../../../ports/groups.ts'

/** What people said and did: triages and notes of groups, and the audit log. */
export class Annals {
  readonly #group
  readonly #triage
  readonly #setTriage
  readonly #append

  constructor(db: DatabaseSync) {
    this.#group = db.prepare('select 1 from groups where id = ? and count > 0')
    this.#triage = db.prepare('select triage, notes from triages where grp = ?')
    this.#setTriage = db.prepare(
      `insert into triages(grp, triage, notes) values(?, ?, ?)
       on conflict(grp) do update set triage = excluded.triage, notes = excluded.notes`,
    )
    this.#append = db.prepare('insert into audit(at, by, action, target, detail) values(?, ?, ?, ?, ?)')
  }

  /** False when no letter has that fingerprint. */
  changeGroup(id: string, change: TriageChange): boolean {
    if (this.#group.get(id) === undefined) return false
    const row = this.#triage.get(id) as { triage: string; notes: string } | undefined
    const before = row && { triage: JSON.parse(row.triage), notes: JSON.parse(row.notes) }
    const { triage, notes } = talkAfter(before ?? NO_TALK, change)
    this.#setTriage.run(id, JSON.stringify(triage), JSON.stringify(notes))
    return true
  }

  append({ at, by, action, target, detail }: AuditEntry): void {
    this.#append.run(at, by, action, target, detail === undefined ? null : JSON.stringify(detail))
  }
}
