import { Link } from 'wouter'
import type { Group } from '../../api/types.ts'
import { planUrl } from '../../lib/letter-filters.ts'
import { short, whole } from '../../lib/numbers.ts'
import { groupPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { useCan, useIsFederated } from '../../lib/use-can.ts'
import { ReplayedText, Sparkline } from '../../ui/charts.tsx'
import { Table } from '../../ui/table.tsx'
import { GroupTag } from '../../ui/tags.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import './group-table.css'

export const RULES: Readonly<Record<Group['rule'], string>> = {
  explicit: 'Key set by the handler',
  frame: 'Error and first app frame',
  message: 'Error and message',
  reason: 'Reason only',
}

export function GroupTable({ groups }: { groups: readonly Group[] }) {
  const isFederated = useIsFederated()
  const { allowed } = useCan('replay.plan')
  return (
    <Table kind="groups">
      <thead>
        <tr>
          <th scope="col">Cause</th>
          <th scope="col" className="col-state">
            State
          </th>
          <th scope="col" className="col-spark">
            Last 24 h
          </th>
          <th scope="col" className="number col-count">
            Letters
          </th>
          <th scope="col" className="col-seen">
            Seen
          </th>
          <th scope="col" className="col-replayed">
            Replays
          </th>
        </tr>
      </thead>
      <tbody>
        {groups.map(group => (
          <tr
            key={`${group.store} ${group.id}`}
            className="linked"
            data-replay={allowed ? planUrl({ filter: { group: group.id } }) : undefined}
          >
            <td className="title">
              <Link href={groupPath(group.id)} className="row-link two-lines external-text">
                {plainText(group.title)}
              </Link>
              <div
                className="small quiet clip external-text"
                title={`Grouping rule: ${RULES[group.rule]}: ${group.basis}`}
              >
                {isFederated && `${group.store} · `}
                {group.channels.join(', ')} · {RULES[group.rule]}: <code>{plainText(ownPart(group))}</code>
              </div>
            </td>
            <td>
              <GroupTag group={group} />
              <div className="small quiet clip external-text">{group.owner ?? ''}</div>
            </td>
            <td data-name="Last 24 h">
              <Sparkline counts={group.sparkline} unit="hour" tone={group.regressed ? 'signal' : 'sea'} />
            </td>
            <td className="number" data-name="Letters">
              <span className="strong">{short(group.count)}</span>
              <div className="small quiet">{whole(group.waiting)} waiting</div>
            </td>
            <td className="seen" data-name="Seen">
              <RelativeTime at={group.lastSeenAt} />
              <div className="small quiet">
                <RelativeTime at={group.firstSeenAt} prefix="first " />
              </div>
            </td>
            <td className="small" data-name="Replays">
              <ReplayedText replayed={group.replayed} recovered={group.recovered} />
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

/** Of what was hashed, the part that the title does not already say. */
function ownPart({ basis, title }: Group): string {
  const name = title.split(':')[0] ?? ''
  return basis.startsWith(name) ? basis.slice(name.length).replace(/^[:\s]+/, '') || basis : basis
}
