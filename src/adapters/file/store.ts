import { join } from 'node:path'
import { resolveOptions } from '../../core/options/resolve.ts'
import { sealedAudit } from '../../ports/sealed-audit.ts'
import { sealedReplays } from '../../ports/sealed-replays.ts'
import type { Store } from '../../ports/store.ts'
import { StoreClosedError } from '../../ports/store-errors.ts'
import { deadLetterRules, FileDeadLetters, type FileDeadLettersOptions } from './dead-letters.ts'
import { Door } from './door.ts'
import { FileGroups } from './groups/groups.ts'
import { TriageBook } from './groups/triage-book.ts'
import { realFiles } from './journal/files.ts'
import { type Journal, type JournalSettings, openJournal } from './journal/journal.ts'
import { journalSettings } from './options.ts'
import { ItemShelf } from './replays/item-shelf.ts'
import { ReplayBook } from './replays/replay-book.ts'
import { FileReplays } from './replays/replays.ts'
import { FileSnapshots } from './snapshots/snapshots.ts'

export type FileStoreOptions = FileDeadLettersOptions

export interface FileStore extends Store {
  readonly deadLetters: FileDeadLetters
}

/**
 * Everything an operator works with, in one folder: the letters as fileDeadLetters keeps them, and beside them what
 * people decided, the replays, the audit and the snapshots. Each part is opened when it is first used.
 */
export function fileStore(options: FileStoreOptions): FileStore {
  const resolved = resolveOptions('fileStore', deadLetterRules, options)
  const { dir, clock } = resolved
  const partOf = (name: string): JournalSettings => {
    return { ...journalSettings(resolved, realFiles, name), dir: join(dir, name) }
  }
  const deadLetters = new FileDeadLetters(resolved)
  const triage = partDoor(partOf('groups'), async settings => {
    const book = new TriageBook()
    return { book, journal: await openJournal(settings, book) }
  })
  const replays = partDoor(partOf('replays'), async settings => {
    const book = new ReplayBook()
    return { book, journal: await openJournal(settings, book) }
  })
  const items = new ItemShelf(partOf('replays'))
  const snapshots = new FileSnapshots(partOf('snapshots'))
  return {
    url: `file:${dir}`,
    deadLetters,
    groups: new FileGroups(deadLetters.door, triage, clock),
    replays: sealedReplays(new FileReplays(replays, items, clock), resolved.codec.letters.texts),
    audit: sealedAudit(deadLetters.audit, resolved.codec.letters.texts),
    snapshots,
    async close() {
      for (const part of [deadLetters, triage, items, replays, snapshots]) await part.close()
    },
  }
}

function partDoor<T extends { readonly journal: Journal }>(
  settings: JournalSettings,
  open: (settings: JournalSettings) => Promise<T>,
): Door<T> {
  return new Door(
    () => open(settings),
    ({ journal }) => journal.close(),
    () => new StoreClosedError(settings.dir),
  )
}
