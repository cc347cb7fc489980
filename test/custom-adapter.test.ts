import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { FolderBroker } from '../examples/custom-adapter/folder-broker.ts'
import { FolderLetters } from '../examples/custom-adapter/folder-letters.ts'
import { brokerConformance, deadLetterStoreConformance, FakeClock } from '../src/testing/index.ts'

/** In memory where the system has such a folder: the suites write thousands of files, each of them synced. */
const ROOT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const newFolder = () => mkdtempSync(join(ROOT, 'lazaret-custom-'))

describe('B20: a broker that is written outside the package with lazaret/adapter-kit', () => {
  brokerConformance({
    test: it,
    declares: { delay: true, keyOrder: false, deadLetters: false, durable: true },
    setup: async () => {
      const clock = new FakeClock()
      const dir = newFolder()
      const open = async () => new FolderBroker({ dir, clock })
      return {
        clock,
        broker: await open(),
        reopen: open,
        cleanup: async () => rmSync(dir, { recursive: true }),
      }
    },
  })
})

describe('B20: a dead-letter store that is written outside the package with lazaret/adapter-kit', () => {
  deadLetterStoreConformance({
    test: it,
    declares: { durable: true, bounded: false },
    setup: async () => {
      const dir = newFolder()
      const open = async () => new FolderLetters({ dir })
      return { store: await open(), reopen: open, cleanup: async () => rmSync(dir, { recursive: true }) }
    },
  })
})
