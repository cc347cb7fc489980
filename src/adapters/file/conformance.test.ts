import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { deadLetterStoreConformance } from '../../testing/conformance/dead-letters.ts'
import { journalConformance } from '../../testing/conformance/journal.ts'
import { spillConformance } from '../../testing/conformance/spill.ts'
import { storeConformance } from '../../testing/conformance/store.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { fileDeadLetters, fileJournal, fileSpill, fileStore } from './index.ts'

async function freshFolder(): Promise<{ readonly dir: string; readonly cleanup: () => Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'lazaret-file-'))
  return { dir, cleanup: () => rm(dir, { recursive: true }) }
}

describe('dead letters in files', () => {
  deadLetterStoreConformance({
    test: it,
    async setup({ capacity, codec }) {
      const { dir, cleanup } = await freshFolder()
      const open = () => fileDeadLetters({ dir, capacity, codec, rotateBytes: 20_000 })
      return { store: open(), reopen: async () => open(), cleanup }
    },
    declares: { durable: true, bounded: true, codec: true },
  })
})

describe('a spill in files', () => {
  spillConformance({
    test: it,
    async setup() {
      const { dir, cleanup } = await freshFolder()
      const open = () => fileSpill({ dir, rotateBytes: 1_000 })
      return { spill: open(), reopen: async () => open(), cleanup }
    },
    declares: { durable: true },
  })
})

describe('a store in a folder', () => {
  storeConformance({
    test: it,
    async setup({ retention }) {
      const { dir, cleanup } = await freshFolder()
      const clock = new FakeClock()
      const open = () => fileStore({ dir, clock, ...retention?.driven })
      return { store: open(), clock, reopen: async () => open(), openSecond: async () => open(), cleanup }
    },
    declares: { durable: true },
  })
})

describe('a journal in files', () => {
  journalConformance({
    test: it,
    async setup({ capacity: maxEvents }) {
      const { dir, cleanup } = await freshFolder()
      const open = () => fileJournal({ dir, maxEvents, rotateBytes: 1_000 })
      return { journal: open(), reopen: async () => open(), cleanup }
    },
    declares: { durable: true, bounded: true },
  })
})
