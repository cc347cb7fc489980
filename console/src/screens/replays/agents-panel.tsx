import { useAudit } from '../../api/queries.ts'
import { LATEST_ENTRIES } from '../../api/screen-queries.ts'
import type { ReplaySummary } from '../../api/types.ts'
import { AuditTable } from '../../ui/audit-table.tsx'
import { Panel } from '../../ui/page.tsx'
import { ReplayTable } from './replay-table.tsx'

/** The audit log marks agents with it. No token has such a name. */
const AGENT = 'agent:'
const ENTRIES_SHOWN = 10

/** The plans of agents that wait for a person, and what agents did lately. Without agents there is no panel. */
export function AgentsPanel({ replays }: { replays: readonly ReplaySummary[] }) {
  const { data } = useAudit({ limit: LATEST_ENTRIES })
  const waiting = replays.filter(({ state, createdBy }) => state === 'planned' && createdBy.startsWith(AGENT))
  const entries = (data?.entries ?? []).filter(({ by }) => by.startsWith(AGENT))
  if (waiting.length === 0 && entries.length === 0) return null
  return (
    <>
      {waiting.length > 0 && (
        <Panel title="Agents wait for your approval" bare>
          <ReplayTable replays={waiting} empty="" />
        </Panel>
      )}
      {entries.length > 0 && (
        <Panel
          title="What agents did"
          aside={<span className="quiet small">Among the latest {LATEST_ENTRIES} audit entries</span>}
          bare
        >
          <AuditTable entries={entries.slice(0, ENTRIES_SHOWN)} />
        </Panel>
      )}
    </>
  )
}
