import { instancesOf, reportRow } from '../../../adapter-kit/fleet/check-report.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import type { Fleet, Instance, InstanceReport } from '../../../ports/fleet.ts'
import type { Session } from '../connection/connection.ts'

/** The processes that have the file open. Their clock is that of the machine, which they share. */
export class SqliteFleet implements Fleet {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  async report(report: InstanceReport, leaseMs: number): Promise<void> {
    const { connection } = this.#session
    await connection.write('fleet', 'put', ...reportRow(report, leaseMs))
  }

  async leave(id: string): Promise<void> {
    await this.#session.connection.write('fleet', 'leave', id)
  }

  async list(): Promise<readonly Instance[]> {
    const { rows, now } = await this.#session.connection.read('fleet', 'list')
    return instancesOf(rows, now)
  }

  async purge(before: number): Promise<number> {
    const { connection } = this.#session
    return await connection.write('fleet', 'purge', resolvePurge(before))
  }
}
