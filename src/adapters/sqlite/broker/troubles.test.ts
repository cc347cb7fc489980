import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, it } from 'vitest'
import type { BrokerTrouble } from '../../../testing/conformance/broker/suite.ts'
import { troubleTests } from '../../../testing/conformance/broker/troubles.ts'
import { sqliteBroker } from '../index.ts'

const folder = await mkdtemp(join(tmpdir(), 'lazaret-trouble-'))
const path = join(folder, 'events.db')
afterAll(() => rm(folder, { recursive: true, force: true }))

let other: DatabaseSync | undefined

const TROUBLES: readonly BrokerTrouble[] = [
  {
    name: 'another process locks the file',
    cause: async () => {
      other = new DatabaseSync(path)
      other.exec('pragma busy_timeout = 5000; begin immediate')
    },
    undo: async () => {
      other?.exec('rollback')
      other?.close()
    },
    expect: 'recovers',
  },
]

describe('the SQLite broker in trouble', () => {
  troubleTests({
    test: it,
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
    troubles: TROUBLES,
    setup: async () => ({ broker: sqliteBroker({ path }) }),
  })
})
