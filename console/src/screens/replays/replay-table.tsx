import { Link } from 'wouter'
import type { ReplaySummary } from '../../api/types.ts'
import { percent, whole } from '../../lib/numbers.ts'
import { replayPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { OutcomeBar } from '../../ui/charts.tsx'
import { Empty } from '../../ui/notes.tsx'
import { Table } from '../../ui/table.tsx'
import { ReplayTag } from '../../ui/tags.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import './replay-table.css'

export function ReplayTable({ replays, empty }: { replays: readonly ReplaySummary[]; empty: string }) {
  if (replays.length === 0) return <Empty title="No replays">{empty}</Empty>
  return (
    <Table kind="replays">
      <thead>
        <tr>
          <th scope="col">Reason</th>
          <th scope="col" className="col-state">
            State
          </th>
          <th scope="col" className="number col-count">
            Letters
          </th>
          <th scope="col" className="col-outcome">
            Outcomes
          </th>
          <th scope="col" className="col-planned">
            Planned
          </th>
        </tr>
      </thead>
      <tbody>
        {replays.map(replay => (
          <tr key={replay.id} className="linked">
            <td className="title">
              <Link href={replayPath(replay.id)} className="row-link two-lines external-text">
                {plainText(replay.reason)}
              </Link>
              {replay.stateReason && (
                <div className="small quiet clip external-text">{plainText(replay.stateReason)}</div>
              )}
            </td>
            <td>
              <ReplayTag state={replay.state} />
            </td>
            <td className="number" data-name="Letters">
              {whole(replay.count)}
            </td>
            <td className="outcome-cell" data-name="Outcomes">
              <OutcomeBar counts={replay.counts} />
              <div className="small quiet outcome-words">{outcomeOf(replay)}</div>
            </td>
            <td className="quiet" data-name="Planned">
              <RelativeTime at={replay.createdAt} />
              <div className="small clip external-text">by {plainText(replay.createdBy)}</div>
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

function outcomeOf({ counts, recoveredShare }: ReplaySummary): string {
  if (recoveredShare === undefined) return counts.waiting > 0 ? 'Nothing sent yet' : 'No outcome'
  const again = counts.failed_same_cause + counts.failed_new_cause
  return `${percent(recoveredShare)} recovered${again > 0 ? `, ${whole(again)} failed again` : ''}`
}
