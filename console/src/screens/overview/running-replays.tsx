import { Link } from 'wouter'
import type { ReplaySummary } from '../../api/types.ts'
import { percent, whole } from '../../lib/numbers.ts'
import { replayPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { OutcomeBar } from '../../ui/charts.tsx'
import { ReplayTag } from '../../ui/tags.tsx'

export function RunningReplays({ replays }: { replays: readonly ReplaySummary[] }) {
  if (replays.length === 0)
    return (
      <p className="quiet small">
        No replay running. Once the cause of a group is fixed, plan a replay of it:{' '}
        <Link href="/groups">view groups</Link>.
      </p>
    )
  return (
    <ul className="stack">
      {replays.map(replay => (
        <li key={replay.id} className="running">
          <div className="row">
            <Link href={replayPath(replay.id)} className="row-link clip external-text">
              {plainText(replay.reason)}
            </Link>
            <span className="push">
              <ReplayTag state={replay.state} />
            </span>
          </div>
          <OutcomeBar counts={replay.counts} />
          <div className="quiet small">
            {whole(replay.counts.recovered)} of {whole(replay.count)} recovered
            {replay.recoveredShare !== undefined && `, recovery rate ${percent(replay.recoveredShare)}`}
          </div>
        </li>
      ))}
    </ul>
  )
}
