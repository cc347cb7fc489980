import {
  commandRecords,
  commandRows,
  commandsOf,
  outcomeText,
  resolveLimit,
} from '../../../adapter-kit/fleet/check-commands.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import { purgeRows } from '../../../adapter-kit/snapshots/rows.ts'
import type { Commands } from '../../../ports/commands.ts'
import type { Session } from '../connection/connection.ts'

/** Commands to the processes that have the file open. They find theirs by polling, because processes cannot notify each other. */
export function sqliteCommands(session: Session): Commands {
  return {
    async send(commands, ttlMs) {
      const { connection } = session
      await connection.write('commands', 'send', commandRows(commands, ttlMs))
    },

    async claim(instance, limit) {
      const { connection } = session
      const most = resolveLimit(limit)
      if (!(await connection.read('commands', 'isAwaited', instance))) return []
      return commandsOf(await connection.write('commands', 'claim', instance, most))
    },

    async finish(id, instance, outcome) {
      const { connection } = session
      return await connection.write('commands', 'finish', id, instance, outcomeText(outcome))
    },

    async get(request) {
      const { rows, now } = await session.connection.read('commands', 'get', request)
      return commandRecords(rows, now)
    },

    async list(limit) {
      const { connection } = session
      const { rows, now } = await connection.read('commands', 'list', resolveLimit(limit))
      return commandRecords(rows, now)
    },

    async purge(before) {
      const bound = resolvePurge(before)
      return await purgeRows(most => session.connection.write('commands', 'purge', bound, most))
    },
  }
}
