import { join } from 'node:path'
import { createIdSource } from '../../../core/event/uuid.ts'
import type { Codec } from '../../../ports/codec.ts'
import type { Replay, ReplayItem } from '../../../ports/replays.ts'
import type { ChannelSnapshot } from '../../../ports/snapshots.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import type { SqliteStore } from '../../sqlite/index.ts'
import { ignoringCode, makeFolder } from '../journal/files.ts'
import type { JournalSettings } from '../journal/journal.ts'
import { type JournalRecord, readLine, readLines } from '../journal/line.ts'
import { SegmentFolder } from '../journal/segments.ts'
import { Lazy } from '../lazy.ts'

const FILE = 'operations.db'

/**
 * Replays and snapshots, in an SQLite file of the folder. They are stored only there, as letters are stored only in the
 * journal. A process that only stores letters never opens the file.
 */
export function lazyOperations(settings: JournalSettings, codec: Codec): Lazy<SqliteStore> {
  const { files, dir, clock } = settings
  const path = join(dir, FILE)
  return new Lazy(
    async () => {
      const { openSqlite } = await import('../../sqlite/index.ts')
      await makeFolder(files, dir)
      if (!(await files.list(dir)).includes(FILE)) {
        await copyJournals(settings, path, place => openSqlite({ path: place, clock }))
      }
      return openSqlite({ path, clock, codec })
    },
    store => store.close(),
    () => new StoreClosedError(dir),
  )
}

/**
 * An earlier version kept replays and snapshots in journals of their own. They are copied to a file that gets its name when
 * it is whole, so that of several who begin at the same time one does it, and stay as they are. Texts that are sealed are
 * copied sealed: `open` has no codec.
 */
async function copyJournals(
  settings: JournalSettings,
  path: string,
  open: (path: string) => SqliteStore,
): Promise<void> {
  const { files, dir, clock, random } = settings
  const before = await files.list(dir)
  if (!before.includes('replays') && !before.includes('snapshots')) return
  const copy = `${path}.${createIdSource(random)(clock.now())}.copy`
  const store = open(copy)
  try {
    try {
      await copyReplays(settings, store)
      await copySnapshots(settings, store)
    } finally {
      await store.close()
    }
    await ignoringCode('EEXIST', () => files.link(copy, path))
    await files.syncFolder(dir)
  } finally {
    await files.remove(copy).catch(() => {})
  }
}

async function copyReplays(settings: JournalSettings, { replays }: SqliteStore): Promise<void> {
  const dir = join(settings.dir, 'replays')
  const found = new Map<string, Replay>()
  for await (const records of recordsIn(settings, dir, 'replays'))
    for (const replay of recordsOf<Replay>(records, 'replay')) found.set(replay.id, replay)
  for (const replay of found.values()) {
    const items = new Map<number, ReplayItem>()
    const itemsDir = join(dir, `items-${encodeURIComponent(replay.id)}`)
    for await (const records of recordsIn(settings, itemsDir, 'replays'))
      for (const item of recordsOf<ReplayItem[]>(records, 'items').flat()) items.set(item.position, item)
    await replays.create(replay, [...items.values()])
  }
}

async function copySnapshots(settings: JournalSettings, { snapshots }: SqliteStore): Promise<void> {
  for await (const records of recordsIn(settings, join(settings.dir, 'snapshots'), 'snapshots')) {
    await snapshots.append(recordsOf<ChannelSnapshot>(records, 'put'))
    // The purges run after all snapshots of the file. A snapshot that was appended after the purge of its time goes too;
    // the next purge would have deleted it.
    for (const { before } of recordsOf<{ before: number }>(records, 'delete')) await snapshots.purge(before)
  }
}

/** Reads the records of a journal that nobody writes to any more, one file at a time. */
async function* recordsIn(
  { files, onDamage }: JournalSettings,
  dir: string,
  prefix: string,
): AsyncGenerator<JournalRecord[]> {
  const folder = new SegmentFolder(files, dir, prefix)
  for (const name of await folder.list()) {
    const path = folder.path(name)
    const records: JournalRecord[] = []
    await readLines(files, path, 0, (line, offset) => {
      const record = readLine(line)
      if (record !== undefined) records.push(record)
      else onDamage({ kind: 'checksum', path, offset, bytes: line.length })
    })
    yield records
  }
}

function recordsOf<T>(records: readonly JournalRecord[], kind: string): T[] {
  return records.filter(record => record.kind === kind).map(({ text }): T => JSON.parse(text))
}
