import { Link } from 'wouter'
import { replayPath } from '../../lib/paths.ts'

/** A replay by `outbox_replay` in Postgres has an id, but no page: nobody planned it here. */
const BY_SQL = /^sql-/

export function ReplayLink({ id, children }: { id: string; children: string }) {
  return BY_SQL.test(id) ? <>by outbox_replay in SQL</> : <Link href={replayPath(id)}>{children}</Link>
}
