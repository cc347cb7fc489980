import { portionsOf } from '../../../adapter-kit/portions.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import { resolveSnapshots } from '../../../adapter-kit/snapshots/check.ts'
import { listRows, purgeRows, rowOf, SNAPSHOTS_AT_ONCE } from '../../../adapter-kit/snapshots/rows.ts'
import type { Snapshots } from '../../../ports/snapshots.ts'
import type { Session } from '../connection/connection.ts'

/** Snapshots of channels. Each portion checks that the store is still open. */
export function sqliteSnapshots(session: Session): Snapshots {
  return {
    async append(snapshots) {
      session.requireOpen()
      for (const portion of portionsOf(resolveSnapshots(snapshots), SNAPSHOTS_AT_ONCE))
        await session.connection.write('snapshots', 'put', portion.map(rowOf))
    },

    async list(query) {
      return await listRows(
        {
          channels: () => session.connection.read('snapshots', 'channels'),
          bodies: (channels, wanted) => session.connection.read('snapshots', 'list', channels, wanted),
        },
        query,
      )
    },

    async purge(before) {
      const bound = resolvePurge(before)
      return await purgeRows(most => session.connection.write('snapshots', 'purge', bound, most))
    },
  }
}
