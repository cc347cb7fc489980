import { Link } from 'wouter'
import type { GroupDetail } from '../../api/types.ts'
import { counted, percent } from '../../lib/numbers.ts'
import { letterPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import './group.css'

const FILTERS = new Set(['channel', 'type', 'handler', 'reason'])

/** What most of its letters share often is the cause: one release, one host, one key. */
export function CommonValues({ group }: { group: GroupDetail }) {
  if (group.commonValues.length === 0) return <p className="quiet small">No letters to compare yet.</p>
  return (
    <>
      <dl className="common">
        {group.commonValues.map(({ field, values }) => (
          <div key={field}>
            <dt>{field}</dt>
            {values.slice(0, 3).map(({ value, share }) => (
              <dd key={value}>
                <span className="clip external-text" title={value}>
                  {FILTERS.has(field) ? (
                    <Link href={`/letters?${new URLSearchParams({ group: group.id, [field]: value })}`}>
                      {plainText(value)}
                    </Link>
                  ) : (
                    plainText(value)
                  )}
                </span>
                <svg width="64" height="6" aria-hidden="true" focusable="false">
                  <rect className="bar-track" width="64" height="6" rx="3" />
                  <rect className="share" width={Math.max(2, share * 64)} height="6" rx="3" />
                </svg>
                <span className="number">{percent(share)}</span>
              </dd>
            ))}
          </div>
        ))}
      </dl>
      <p className="quiet small">Based on the latest {counted(group.sampled, 'letter')}.</p>
      {group.sampleLetterId && (
        <p className="small">
          <Link href={letterPath(group.sampleLetterId)}>View latest letter</Link>
        </p>
      )}
    </>
  )
}
