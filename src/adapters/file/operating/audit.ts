import { join } from 'node:path'
import { matchesAuditQuery, resolveAuditQuery } from '../../../adapter-kit/query/audit-query.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import { readAuditEntry } from '../../../adapter-kit/query/read-audit-entry.ts'
import type { AuditEntry, AuditLog, AuditPage, AuditQuery } from '../../../ports/audit.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import { type Journal, type JournalSettings, openJournal } from '../journal/journal.ts'
import { readLine, readLines } from '../journal/line.ts'
import type { JournalUser, RecordLocation } from '../journal/segment-set.ts'
import { Lazy } from '../lazy.ts'

/** The journal keeps no index in memory: entries are read from the files. */
const auditUser: JournalUser = {
  apply() {},
  reset() {},
  restore: async () => true,
}

/** The size of an audit file. A page is read from the end of a file, so the files are small. */
const AUDIT_ROTATE_BYTES = 1_000_000

/** A journal of entries in the folder `audit` of the store's folder. A page is read backwards from the last file. */
export class FileAudit implements AuditLog {
  readonly #journal: Lazy<Journal>

  constructor(settings: JournalSettings) {
    const own = { ...settings, dir: join(settings.dir, 'audit'), rotateBytes: AUDIT_ROTATE_BYTES }
    this.#journal = new Lazy(
      () => openJournal(own, auditUser),
      journal => journal.close(),
      () => new StoreClosedError(own.dir),
    )
  }

  async append(entry: AuditEntry): Promise<void> {
    const record = { kind: 'entry', text: JSON.stringify(entry) }
    const journal = await this.#journal.open()
    await journal.decide(() => ({ records: [record], written: () => {} }))
  }

  async list(query?: AuditQuery): Promise<AuditPage> {
    const { limit, behind = LAST, cursorAt, ...wanted } = resolveAuditQuery(query, readLocation)
    const journal = await this.#journal.open()
    await journal.refresh()
    const found: FoundEntry[] = []
    for (const segment of journal.segments.all.toReversed()) {
      if (found.length > limit) break
      if (segment.name.number > behind.segment) continue
      const entries = await entriesOf(journal, segment.name.number)
      for (const each of entries.reverse()) {
        const { entry, location } = each
        if (location.segment === behind.segment && location.offset >= behind.offset) continue
        if (matchesAuditQuery(entry, wanted)) found.push(each)
      }
    }
    const { shown, cursor } = pageOf(found, limit, ({ location }) =>
      cursorAt(`${location.segment}_${location.offset}`),
    )
    return { entries: shown.map(({ entry }) => entry), cursor }
  }

  close(): Promise<void> {
    return this.#journal.close()
  }
}

type EntryLocation = Pick<RecordLocation, 'segment' | 'offset'>

interface FoundEntry {
  readonly entry: AuditEntry
  readonly location: EntryLocation
}

async function entriesOf(journal: Journal, segment: number): Promise<FoundEntry[]> {
  const found: FoundEntry[] = []
  await readLines(journal.files, journal.pathOf(segment), 0, (line, offset) => {
    const record = readLine(line)
    const entry = record?.kind === 'entry' ? readAuditEntry(record.text) : undefined
    if (entry !== undefined) found.push({ entry, location: { segment, offset } })
  })
  return found
}

const LAST: EntryLocation = { segment: Number.POSITIVE_INFINITY, offset: 0 }

function readLocation(location: string): EntryLocation | undefined {
  const [, segment, offset] = /^(\d{1,15})_(\d{1,15})$/.exec(location) ?? []
  return segment === undefined ? undefined : { segment: Number(segment), offset: Number(offset) }
}
