import { useGroupTimeline } from '../../api/queries.ts'
import type { GroupDetail } from '../../api/types.ts'
import { counted, whole } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { beganText, bucketName, markText, shareOf } from '../../lib/timeline-words.ts'
import { Sparkline } from '../../ui/charts.tsx'
import { ErrorNote, Loading } from '../../ui/notes.tsx'
import { RelativeTime } from '../../ui/time.tsx'

/** The letters of the group from its first failure until now, with the releases of that time. */
export function GroupTimelineView({ group }: { group: GroupDetail }) {
  const { data, error, refetch } = useGroupTimeline(group.id)
  if (data === undefined) return error ? <ErrorNote error={error} onRetry={refetch} /> : <Loading rows={2} />
  const { began, releases, examined } = data
  return (
    <div className="stack tight">
      {began && <p className="external-text">{plainText(beganText(began))}</p>}
      <Sparkline
        counts={data.counts}
        unit={bucketName(data.bucketMs)}
        width={330}
        height={48}
        wide
        marks={[...new Set(releases.map(({ at }) => shareOf(data, at)))]}
      />
      {releases.length === 0 ? (
        <p className="quiet small">No release is known to have begun in this time.</p>
      ) : (
        <ul className="releases small">
          {releases.map(mark => (
            <li key={mark.release} className="external-text">
              <strong>{plainText(mark.release)}</strong>{' '}
              <span className="quiet">
                {markText(mark)} <RelativeTime at={mark.at} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {examined < group.count && (
        <p className="quiet small">
          Releases of {whole(examined)} of {counted(group.count, 'letter')}: the oldest and the newest.
        </p>
      )}
    </div>
  )
}
