import { Link } from 'wouter'
import type { Group } from '../../api/types.ts'
import { short } from '../../lib/numbers.ts'
import { groupPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Sparkline } from '../../ui/charts.tsx'
import { Empty } from '../../ui/notes.tsx'
import { Table } from '../../ui/table.tsx'
import { GroupTag } from '../../ui/tags.tsx'
import { RelativeTime } from '../../ui/time.tsx'

export function TopGroups({ groups }: { groups: readonly Group[] }) {
  if (groups.length === 0)
    return <Empty title="No open groups">New failures appear here, grouped by cause.</Empty>
  return (
    <Table kind="top-groups">
      <thead>
        <tr>
          <th scope="col">Cause</th>
          <th scope="col" className="col-spark">
            24 h
          </th>
          <th scope="col" className="number col-count">
            Waiting
          </th>
          <th scope="col" className="col-seen">
            Last seen
          </th>
        </tr>
      </thead>
      <tbody>
        {groups.map(group => (
          <tr key={`${group.store} ${group.id}`} className="linked">
            <td className="title">
              <Link href={groupPath(group.id)} className="row-link clip external-text">
                {plainText(group.title)}
              </Link>
              <div className="row small quiet">
                <GroupTag group={group} />
                <span className="external-text">{group.channels.join(', ')}</span>
              </div>
            </td>
            <td data-name="24 h">
              <Sparkline counts={group.sparkline} unit="hour" tone={group.regressed ? 'signal' : 'sea'} />
            </td>
            <td className="number strong" data-name="Waiting">
              {short(group.waiting)}
            </td>
            <td className="quiet" data-name="Last seen">
              <RelativeTime at={group.lastSeenAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}
