import {
  commandRecord,
  commandRows,
  outcomeText,
  resolveLimit,
} from '../../../adapter-kit/fleet/check-commands.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import { purgeRows } from '../../../adapter-kit/snapshots/rows.ts'
import type { Command, CommandOutcome, CommandRecord, Commands } from '../../../ports/commands.ts'
import type { Session } from '../connection/connection.ts'

/** Commands to the processes that have the file open. They find theirs by polling, because processes cannot notify each other. */
export class SqliteCommands implements Commands {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  async send(commands: readonly Command[], ttlMs: number): Promise<void> {
    const { connection } = this.#session
    await connection.write('commands', 'send', commandRows(commands, ttlMs))
  }

  async claim(instance: string, limit: number): Promise<readonly Command[]> {
    const { connection } = this.#session
    const most = resolveLimit(limit)
    if (!(await connection.read('commands', 'isAwaited', instance))) return []
    const bodies = await connection.write('commands', 'claim', instance, most)
    return bodies.map(body => JSON.parse(body) as Command)
  }

  async finish(id: string, instance: string, outcome: CommandOutcome): Promise<boolean> {
    const { connection } = this.#session
    return await connection.write('commands', 'finish', id, instance, outcomeText(outcome))
  }

  async get(request: string): Promise<readonly CommandRecord[]> {
    const { rows, now } = await this.#session.connection.read('commands', 'get', request)
    return rows.map(row => commandRecord(row, now))
  }

  async list(limit: number): Promise<readonly CommandRecord[]> {
    const { connection } = this.#session
    const { rows, now } = await connection.read('commands', 'list', resolveLimit(limit))
    return rows.map(row => commandRecord(row, now))
  }

  async purge(before: number): Promise<number> {
    const bound = resolvePurge(before)
    return await purgeRows(most => this.#session.connection.write('commands', 'purge', bound, most))
  }
}
