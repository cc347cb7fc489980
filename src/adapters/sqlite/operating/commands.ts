import {
  commandRecords,
  commandRows,
  commandsOf,
  newlyOver,
  outcomeText,
  resolveLimit,
} from '../../../adapter-kit/fleet/check-commands.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import { purgeRows } from '../../../adapter-kit/snapshots/rows.ts'
import type { CommandRecord, Commands } from '../../../ports/commands.ts'
import type { Session } from '../connection/connection.ts'
import type { ReadCommands } from './command-table.ts'

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
      return await recordsOf(await session.connection.read('commands', 'get', request))
    },

    async list(limit) {
      const { connection } = session
      return await recordsOf(await connection.read('commands', 'list', resolveLimit(limit)))
    },

    async purge(before) {
      const bound = resolvePurge(before)
      return await purgeRows(most => session.connection.write('commands', 'purge', bound, most))
    },
  }

  async function recordsOf({ rows, now }: ReadCommands): Promise<readonly CommandRecord[]> {
    const over = newlyOver(rows, now).map(({ seq }) => seq)
    // A file that cannot be written now can still be read. The next reader keeps what this one found.
    if (over.length > 0) await session.connection.write('commands', 'end', over).catch(() => {})
    return commandRecords(rows, now)
  }
}
