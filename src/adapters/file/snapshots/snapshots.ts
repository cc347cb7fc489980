import { compareSnapshots, resolveSnapshots } from '../../../ports/snapshot-check.ts'
import { resolvePurge, resolveSnapshotQuery } from '../../../ports/snapshot-query.ts'
import { portionsOf } from '../../../ports/snapshot-rows.ts'
import type { ChannelSnapshot, SnapshotQuery, Snapshots } from '../../../ports/snapshots.ts'
import { StoreClosedError } from '../../../ports/store-errors.ts'
import { Door } from '../door.ts'
import { Compaction } from '../journal/compaction.ts'
import { decide } from '../journal/decide.ts'
import { type Journal, type JournalSettings, openJournal } from '../journal/journal.ts'
import { SnapshotTable } from './snapshot-table.ts'

const DAY_MS = 86_400_000

interface Opened {
  readonly journal: Journal
  readonly table: SnapshotTable
  readonly compaction: Compaction
}

/** A journal of snapshots. Where each lies is known by heart, what it says is read when it is asked for. */
export class FileSnapshots implements Snapshots {
  readonly #door: Door<Opened>

  constructor(settings: JournalSettings) {
    this.#door = new Door(
      () => open(settings),
      async ({ journal, compaction }) => {
        await compaction.stop()
        await journal.close()
      },
      () => new StoreClosedError(settings.dir),
    )
  }

  async append(snapshots: readonly ChannelSnapshot[]): Promise<void> {
    const { journal, table } = await this.#door.enter()
    for (const portion of portionsOf(resolveSnapshots(snapshots))) {
      const records = portion.map(snapshot => ({ kind: 'put', text: JSON.stringify(snapshot) }))
      await decide(journal, () => ({
        records,
        written: places => portion.forEach((snapshot, at) => void table.put(snapshot, places[at]!)),
      }))
    }
  }

  async list(query?: SnapshotQuery): Promise<readonly ChannelSnapshot[]> {
    const wanted = resolveSnapshotQuery(query)
    const { journal, table } = await this.#door.enter()
    await journal.refresh()
    const found: ChannelSnapshot[] = []
    for (const portion of portionsOf(table.asWritten(table.select(wanted)))) {
      const records = await journal.read(() => table.placesOf(portion))
      for (const { text } of records) found.push(JSON.parse(text))
    }
    return found.sort(compareSnapshots)
  }

  async purge(before: number): Promise<number> {
    const bound = resolvePurge(before)
    const { journal, table, compaction } = await this.#door.enter()
    const record = { kind: 'delete', text: JSON.stringify({ before: bound }) }
    const purged = await decide(journal, () =>
      table.hasBefore(bound)
        ? { records: [record], written: () => table.purge(bound) }
        : { records: [], written: () => 0 },
    )
    // What could not be read goes when everything that was written on its day would have gone.
    await compaction.run(({ name: { day } }) => Date.parse(day) + DAY_MS <= bound)
    return purged
  }

  close(): Promise<void> {
    return this.#door.close()
  }
}

async function open(settings: JournalSettings): Promise<Opened> {
  let compaction: Compaction | undefined
  const table = new SnapshotTable(() => compaction?.start())
  const journal = await openJournal(settings, table)
  compaction = new Compaction(journal, table)
  return { journal, table, compaction }
}
