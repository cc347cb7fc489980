import { OpenState } from '../../adapter-kit/open-state.ts'
import { sealedAudit } from '../../adapter-kit/sealed/audit.ts'
import { sealedCommands } from '../../adapter-kit/sealed/commands.ts'
import { sealedReplays } from '../../adapter-kit/sealed/replays.ts'
import { createIdSource } from '../../core/event/uuid.ts'
import type { Commands } from '../../ports/commands.ts'
import type { Fleet } from '../../ports/fleet.ts'
import type { Store } from '../../ports/store.ts'
import { RedisConnection } from './connection/connection.ts'
import { inspectServer, requireFit, type ServerFindings } from './connection/server.ts'
import { keysOf } from './keys.ts'
import { RedisLedger } from './ledger/ledger.ts'
import { RedisDeadLetters } from './letters/dead-letters.ts'
import { redisGroups } from './letters/groups.ts'
import { LetterRecords } from './letters/letter-records.ts'
import { redisAudit } from './operating/audit.ts'
import { redisCommands } from './operating/commands.ts'
import { redisFleet } from './operating/fleet.ts'
import { redisReplays } from './operating/replays.ts'
import { redisSnapshots } from './operating/snapshots.ts'
import { type RedisOptions, resolveRedis, serverOf } from './options.ts'

/** The store that `openRedis()` opens. */
export interface RedisStore extends Store {
  readonly deadLetters: RedisDeadLetters
  readonly ledger: RedisLedger
  readonly fleet: Fleet
  readonly commands: Commands
  /** Resolves when the server answers and has a supported version; otherwise rejects with the problem. */
  ready(): Promise<void>
  /** Reads the configuration of the server that decides whether letters are safe. */
  inspect(): Promise<ServerFindings>
}

/** Everything on one server: dead letters with their groups, a ledger, replays, the audit log, snapshots, the fleet and commands to it. */
export function openRedis(options: RedisOptions): RedisStore {
  const settings = resolveRedis('openRedis', options)
  const { name, clock, random, url } = settings
  const { texts } = settings.codec.letters
  const connection = RedisConnection.of(settings, 'store')
  const door = new OpenState(name)
  const keys = keysOf(settings.prefix)
  const records = new LetterRecords(connection, settings)
  const deadLetters = new RedisDeadLetters(settings, records)
  const ledger = new RedisLedger(connection, settings)
  let closing: Promise<void> | undefined
  return {
    url: url === undefined ? 'redis:' : serverOf(url),
    deadLetters,
    ledger,
    groups: redisGroups(records, clock, door),
    replays: sealedReplays(redisReplays(connection, keys, createIdSource(random), door), texts),
    audit: sealedAudit(redisAudit(connection, keys, door), texts),
    snapshots: redisSnapshots(connection, keys, door),
    fleet: redisFleet(connection, keys, door),
    commands: sealedCommands(redisCommands(connection, keys, settings, door), texts),
    ready: async () => requireFit(await inspectServer(connection)),
    inspect: () => inspectServer(connection),
    close() {
      closing ??= (async () => {
        door.close()
        await ledger.close()
        await deadLetters.close()
        await connection.close()
      })()
      return closing
    },
  }
}

/** Opens the store by its URL, after the server has answered. */
export async function connectRedis(
  url: string,
  options: Omit<RedisOptions, 'url' | 'client'> = {},
): Promise<RedisStore> {
  const store = openRedis({ ...options, url })
  try {
    await store.ready()
  } catch (error) {
    await store.close()
    throw error
  }
  return store
}

/** The dead letters of a server alone. */
export function redisDeadLetters(options: RedisOptions): RedisDeadLetters {
  const settings = resolveRedis('redisDeadLetters', options)
  const connection = RedisConnection.of(settings, 'letters')
  return new RedisDeadLetters(settings, new LetterRecords(connection, settings), () => connection.close())
}

/** The ledger of a server alone. */
export function redisLedger(options: RedisOptions): RedisLedger {
  const settings = resolveRedis('redisLedger', options)
  const connection = RedisConnection.of(settings, 'ledger')
  return new RedisLedger(connection, settings, () => connection.close())
}
