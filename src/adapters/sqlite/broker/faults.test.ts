import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, it } from 'vitest'
import { faultTests } from '../../../testing/conformance/broker/faults.ts'
import type { BrokerFault } from '../../../testing/conformance/broker/suite.ts'
import { sqliteBroker } from '../index.ts'

const folder = await mkdtemp(join(tmpdir(), 'lazaret-fault-'))
const path = join(folder, 'events.db')
const moved = join(folder, 'moved.db')
afterAll(() => rm(folder, { recursive: true, force: true }))

let other: DatabaseSync | undefined

const FAULTS: readonly BrokerFault[] = [
  {
    name: 'another process locks the file',
    inject: async () => {
      other = new DatabaseSync(path)
      other.exec('pragma busy_timeout = 5000; begin immediate')
    },
    undo: async () => {
      other?.exec('rollback')
      other?.close()
    },
    recovery: 'after-undo',
  },
  {
    name: 'the file is moved away',
    inject: async () => move(path, moved),
    undo: async () => move(moved, path),
    recovery: 'after-undo',
    reports: 'deliveries',
    refusesPublishing: true,
  },
]

async function move(from: string, to: string): Promise<void> {
  for (const ending of ['', '-wal', '-shm']) await rename(from + ending, to + ending)
}

describe('the SQLite broker in fault', () => {
  faultTests({
    test: it,
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
    faults: FAULTS,
    setup: async () => ({ broker: sqliteBroker({ path }) }),
  })
})
