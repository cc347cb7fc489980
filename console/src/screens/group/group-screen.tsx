import { Link } from 'wouter'
import { useGroup } from '../../api/queries.ts'
import type { GroupDetail } from '../../api/types.ts'
import { counted, whole } from '../../lib/numbers.ts'
import { groupPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { useParams } from '../../lib/use-search-params.ts'
import { AuditTable } from '../../ui/audit-table.tsx'
import { ReplayedText, Sparkline } from '../../ui/charts.tsx'
import { ErrorNote, Loading } from '../../ui/notes.tsx'
import { Page, Panel, Tabs } from '../../ui/page.tsx'
import { GroupTag } from '../../ui/tags.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { ReplayTable } from '../replays/replay-table.tsx'
import { CommonValues } from './common-values.tsx'
import { GroupActions } from './group-actions.tsx'
import { GroupDifferencesView } from './group-differences.tsx'
import { GroupLetters } from './group-letters.tsx'
import { GroupTimelineView } from './group-timeline.tsx'
import { Notes } from './notes.tsx'
import { TriageForm } from './triage-form.tsx'
import { WhyGrouped } from './why-grouped.tsx'

export function GroupScreen({ id }: { id: string }) {
  const { data, error, refetch } = useGroup(id)
  const above = <Link href="/groups">Groups</Link>
  if (data === undefined)
    return (
      <Page name="Group" above={above}>
        {error ? <ErrorNote error={error} onRetry={refetch} /> : <Loading rows={9} />}
      </Page>
    )
  const title = plainText(data.title)
  return (
    <Page
      name={title}
      title={title}
      above={above}
      lead={<Lead group={data} />}
      actions={<GroupActions group={data} />}
    >
      <div className="columns">
        <div className="stack">
          <GroupTabs group={data} />
        </div>
        <div className="stack">
          <Panel title="Last 24 hours">
            <Sparkline
              counts={data.sparkline}
              unit="hour"
              width={330}
              height={48}
              wide
              tone={data.regressed ? 'signal' : 'sea'}
            />
            <p className="quiet small">{counted(data.rate, 'letter')} in the last hour</p>
          </Panel>
          <Panel title="Since its first failure">
            <GroupTimelineView group={data} />
          </Panel>
          {data.recovered > 0 && data.waiting > 0 && (
            <Panel title="Failed against recovered">
              <GroupDifferencesView group={data} />
            </Panel>
          )}
          <Panel title="Common values">
            <CommonValues group={data} />
          </Panel>
          <Panel title="Grouping rule">
            <WhyGrouped group={data} />
          </Panel>
          <Panel title="Owner">
            <TriageForm group={data} />
          </Panel>
        </div>
      </div>
    </Page>
  )
}

function Lead({ group }: { group: GroupDetail }) {
  return (
    <>
      <GroupTag group={group} />
      <span>
        {counted(group.count, 'letter')}, {whole(group.waiting)} waiting
      </span>
      <ReplayedText replayed={group.replayed} recovered={group.recovered} />
      <span className="quiet">
        <RelativeTime at={group.firstSeenAt} prefix="first seen " />,{' '}
        <RelativeTime at={group.lastSeenAt} prefix="last " />
      </span>
    </>
  )
}

function GroupTabs({ group }: { group: GroupDetail }) {
  const [params] = useParams()
  const tab = params.get('tab') ?? 'letters'
  const base = groupPath(group.id)
  return (
    <>
      <Tabs
        label="Group sections"
        current={tab}
        of={[
          { id: 'letters', name: 'Letters', href: base, count: group.count },
          { id: 'replays', name: 'Replays', href: `${base}?tab=replays`, count: group.replays.length },
          { id: 'notes', name: 'Notes', href: `${base}?tab=notes`, count: group.notes.length },
          { id: 'audit', name: 'Audit', href: `${base}?tab=audit` },
        ]}
      />
      {tab === 'replays' ? (
        <Panel bare>
          <ReplayTable
            replays={group.replays}
            empty="No replay has included letters of this group. Plan one once the cause is fixed."
          />
        </Panel>
      ) : tab === 'notes' ? (
        <Notes group={group} />
      ) : tab === 'audit' ? (
        <Panel bare>
          <AuditTable entries={group.audit} withTarget={false} />
        </Panel>
      ) : (
        <GroupLetters group={group} />
      )}
    </>
  )
}
