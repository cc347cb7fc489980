import { Link } from 'wouter'
import type { AuditEntry } from '../api/types.ts'
import { plainText } from '../lib/plain-text.ts'
import { useIsFederated } from '../lib/use-can.ts'
import { Empty } from './notes.tsx'
import { Table } from './table.tsx'
import { LogTime } from './time.tsx'
import './audit-table.css'

/** Who did what to what. Nobody can change it, this screen included. */
export function AuditTable({
  entries,
  withTarget = true,
}: {
  entries: readonly AuditEntry[]
  withTarget?: boolean
}) {
  const isFederated = useIsFederated()
  if (entries.length === 0)
    return <Empty title="No audit entries">Every change and every revealed payload is recorded here.</Empty>
  return (
    <Table kind="audit">
      <thead>
        <tr>
          <th scope="col" className="col-at">
            Time
          </th>
          <th scope="col" className="col-by">
            User
          </th>
          <th scope="col" className="col-action">
            Action
          </th>
          <th scope="col">{withTarget ? 'Target' : 'Details'}</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two entries can be alike in everything
          <tr key={`${entry.at} ${index}`}>
            <td>
              <LogTime at={entry.at} />
            </td>
            <td className="external-text">{plainText(entry.by)}</td>
            <td>
              <code>{entry.action}</code>
            </td>
            <td className="title external-text">
              {withTarget && (
                <>
                  <Target entry={entry} />
                  {isFederated && <span className="quiet"> in {entry.store}</span>}
                </>
              )}
              <Detail detail={entry.detail} />
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

function Target({ entry: { action, target } }: { entry: AuditEntry }) {
  const place = placeOf(action)
  if (place === undefined || target.includes(' ')) return <>{plainText(target)}</>
  return (
    <Link href={`${place}/${encodeURIComponent(target)}`} className="mono small">
      {plainText(target)}
    </Link>
  )
}

function placeOf(action: string): string | undefined {
  if (action.startsWith('group.')) return '/groups'
  if (action.startsWith('replay.')) return '/replays'
  if (action.startsWith('letter.') || action.startsWith('payload.')) return '/letters'
  return undefined
}

function Detail({ detail }: { detail: AuditEntry['detail'] }) {
  if (detail === undefined) return null
  const parts = Object.entries(detail).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return <div className="small quiet">{plainText(parts.join(' · '))}</div>
}
