import { join } from 'node:path'
import { withAdmin } from '../../../src/adapters/rabbitmq/admin.ts'
import { rabbitmq } from '../../../src/adapters/rabbitmq/index.ts'
import { sqliteBroker, sqliteDeadLetters } from '../../../src/adapters/sqlite/index.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import type { DeadLetterStore } from '../../../src/ports/dead-letters.ts'
import { lettersIn, lettersOnRabbitmq } from '../campaign/letters.ts'
import { FAST_DETECTION } from '../campaign/settings.ts'
import { CHANNEL, LEASE_MS } from './plan.ts'

/** The broker of a campaign, as its consumers and those who count see it. */
export interface BrokerPlace {
  open(): Broker
  /** Undefined where the broker keeps letters itself. */
  openLetters(): DeadLetterStore | undefined
  prepare(): Promise<void>
  /** The event id of every letter. */
  letters(): Promise<readonly string[]>
  /** Events that wait to be handled. */
  left(): Promise<number>
}

/** An AMQP URL names a server; anything else is a folder for a SQLite file. */
export function placeAt(where: string): BrokerPlace {
  return where.startsWith('amqp:') ? onRabbitmq(where) : withTempFolder(where)
}

function onRabbitmq(url: string): BrokerPlace {
  const admin = { url, queueType: 'quorum' } as const
  return {
    open: () => rabbitmq({ ...admin, ...FAST_DETECTION }),
    openLetters: () => undefined,
    prepare: async () => void (await withAdmin(admin, it => it.declare(CHANNEL, CHANNEL))),
    letters: () => lettersOnRabbitmq(url, CHANNEL),
    left: async () => {
      const { ready = 0, waiting, suspects } = await withAdmin(admin, it => it.status(CHANNEL))
      return ready + waiting + suspects
    },
  }
}

function withTempFolder(folder: string): BrokerPlace {
  const path = join(folder, 'broker.db')
  const open = () => sqliteBroker({ path, leaseMs: LEASE_MS, maxPollMs: 50 })
  return {
    open,
    openLetters: () => sqliteDeadLetters({ path }),
    prepare: async () => {},
    letters: () => lettersIn(sqliteDeadLetters({ path }), CHANNEL),
    left: async () => {
      const broker = open()
      try {
        return await broker.depth(CHANNEL, CHANNEL)
      } finally {
        await broker.close()
      }
    },
  }
}
