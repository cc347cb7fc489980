import { instancesOf, reportRow } from '../../../adapter-kit/fleet/check-report.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import type { Fleet } from '../../../ports/fleet.ts'
import type { Session } from '../connection/connection.ts'

/** The processes that have the file open. Their clock is that of the machine, which they share. */
export function sqliteFleet(session: Session): Fleet {
  return {
    async report(report, leaseMs) {
      const { connection } = session
      await connection.write('fleet', 'put', ...reportRow(report, leaseMs))
    },

    async leave(id) {
      await session.connection.write('fleet', 'leave', id)
    },

    async list() {
      const { rows, now } = await session.connection.read('fleet', 'list')
      return instancesOf(rows, now)
    },

    async purge(before) {
      const { connection } = session
      return await connection.write('fleet', 'purge', resolvePurge(before))
    },
  }
}
