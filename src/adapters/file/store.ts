import { sealedAudit } from '../../adapter-kit/sealed/audit.ts'
import { resolveOptions } from '../../core/options/resolve.ts'
import type { Store } from '../../ports/store.ts'
import { realFiles } from './journal/files.ts'
import { deadLetterRules, FileDeadLetters, type FileDeadLettersOptions } from './letters/dead-letters.ts'
import { FileGroups } from './letters/groups.ts'
import { lazyOperations } from './operating/operations.ts'
import { journalSettings } from './options.ts'

/** Options of `fileStore()`. */
export type FileStoreOptions = FileDeadLettersOptions

/** The store that `fileStore()` makes. */
export interface FileStore extends Store {
  readonly deadLetters: FileDeadLetters
}

/**
 * Creates a complete store in one folder: letters as in fileDeadLetters, triage, the audit log, and an SQLite file with
 * replays and snapshots. Each part is opened at its first use.
 */
export function fileStore(options: FileStoreOptions): FileStore {
  const resolved = resolveOptions('fileStore', deadLetterRules, options)
  const { dir, codec } = resolved
  const settings = journalSettings(resolved, realFiles, 'groups')
  const deadLetters = new FileDeadLetters(resolved)
  const groups = new FileGroups(deadLetters.log, settings)
  const operations = lazyOperations(settings, codec)
  const replays = async () => (await operations.open()).replays
  const snapshots = async () => (await operations.open()).snapshots
  return {
    url: `file:${dir}`,
    deadLetters,
    groups,
    audit: sealedAudit(deadLetters.audit, codec.letters.texts),
    replays: {
      create: async (...given) => (await replays()).create(...given),
      get: async (...given) => (await replays()).get(...given),
      list: async (...given) => (await replays()).list(...given),
      update: async (...given) => (await replays()).update(...given),
      items: async (...given) => (await replays()).items(...given),
      record: async (...given) => (await replays()).record(...given),
      counts: async (...given) => (await replays()).counts(...given),
      lease: async (...given) => (await replays()).lease(...given),
      releaseLease: async (...given) => (await replays()).releaseLease(...given),
    },
    snapshots: {
      append: async (...given) => (await snapshots()).append(...given),
      list: async (...given) => (await snapshots()).list(...given),
      purge: async (...given) => (await snapshots()).purge(...given),
    },
    async close() {
      for (const part of [deadLetters, groups, operations]) await part.close()
    },
  }
}
