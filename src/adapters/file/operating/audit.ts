import { join } from 'node:path'
import { resolveAuditQuery } from '../../../adapter-kit/query/audit-query.ts'
import type { AuditEntry, AuditLog, AuditPage, AuditQuery } from '../../../ports/audit.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import { Door } from '../door.ts'
import { decide } from '../journal/decide.ts'
import { type Journal, type JournalSettings, openJournal } from '../journal/journal.ts'
import { type JournalRecord, readLine } from '../journal/line.ts'
import { readLines } from '../journal/read-lines.ts'
import type { JournalUser, Place } from '../journal/segment-set.ts'

/** Nothing is kept in memory: what was done is looked up where it is written. */
const auditUser: JournalUser = {
  apply() {},
  reset() {},
  recall: async () => true,
}

/** A page of the audit is read from the end of a file, so these are kept small. */
const AUDIT_ROTATE_BYTES = 1_000_000

export type AuditDoor = Door<{ readonly journal: Journal }>

/** The audit log in the folder `audit` of these settings' folder. It is opened when it is first used. */
export function auditDoor(settings: JournalSettings): AuditDoor {
  const own = { ...settings, dir: join(settings.dir, 'audit'), rotateBytes: AUDIT_ROTATE_BYTES }
  return new Door(
    async () => ({ journal: await openJournal(own, auditUser) }),
    ({ journal }) => journal.close(),
    () => new StoreClosedError(own.dir),
  )
}

/** A journal of entries. A page is read from the end of the last file backwards. */
export class FileAudit implements AuditLog {
  readonly #door: Door<{ readonly journal: Journal }>

  constructor(door: Door<{ readonly journal: Journal }>) {
    this.#door = door
  }

  async append(entry: AuditEntry): Promise<void> {
    const record: JournalRecord = { kind: 'entry', text: JSON.stringify(entry) }
    const { journal } = await this.#door.enter()
    await decide(journal, () => ({ records: [record], written: () => {} }))
  }

  async list(query?: AuditQuery): Promise<AuditPage> {
    const { target, action, limit, behind = LAST, cursorAt } = resolveAuditQuery(query, readPlace)
    const { journal } = await this.#door.enter()
    await journal.refresh()
    const found: Found[] = []
    for (const segment of journal.segments.all.toReversed()) {
      if (found.length > limit) break
      if (segment.name.number > behind.segment) continue
      const entries = await entriesOf(journal, segment.name.number)
      for (const each of entries.reverse()) {
        const { entry, place } = each
        if (place.segment === behind.segment && place.offset >= behind.offset) continue
        if ((target ?? entry.target) === entry.target && (action ?? entry.action) === entry.action)
          found.push(each)
      }
    }
    const shown = found.slice(0, limit)
    const last = shown.at(-1)?.place
    const hasMore = found.length > limit && last !== undefined
    return {
      entries: shown.map(({ entry }) => entry),
      cursor: hasMore ? cursorAt(`${last.segment}_${last.offset}`) : undefined,
    }
  }
}

interface Found {
  readonly entry: AuditEntry
  readonly place: Pick<Place, 'segment' | 'offset'>
}

async function entriesOf(journal: Journal, segment: number): Promise<Found[]> {
  const found: Found[] = []
  await readLines(journal.files, journal.pathOf(segment), 0, (line, offset) => {
    const record = readLine(line)
    if (record?.kind === 'entry') found.push({ entry: JSON.parse(record.text), place: { segment, offset } })
  })
  return found
}

const LAST = { segment: Number.POSITIVE_INFINITY, offset: 0 }

function readPlace(place: string): Pick<Place, 'segment' | 'offset'> | undefined {
  const [, segment, offset] = /^(\d{1,15})_(\d{1,15})$/.exec(place) ?? []
  return segment === undefined ? undefined : { segment: Number(segment), offset: Number(offset) }
}
