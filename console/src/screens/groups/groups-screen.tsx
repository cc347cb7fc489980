import { useLocation, useSearch } from 'wouter'
import { useGroups } from '../../api/queries.ts'
import { groupsQuery } from '../../api/screen-queries.ts'
import type { GroupSort } from '../../api/types.ts'
import { urlWith, useParams } from '../../lib/use-search-params.ts'
import { LinkButton } from '../../ui/buttons.tsx'
import { Select } from '../../ui/fields.tsx'
import { Empty, ErrorNote, Loading, MissingData } from '../../ui/notes.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import { SearchField } from '../../ui/search-field.tsx'
import { ChannelChoice } from './channel-choice.tsx'
import { GroupTable } from './group-table.tsx'

const STATES = [
  ['', 'All states'],
  ['open', 'Open'],
  ['acknowledged', 'Acknowledged'],
  ['muted', 'Muted'],
  ['resolved', 'Resolved'],
] as const

const SORTS: readonly (readonly [GroupSort, string])[] = [
  ['regressed', 'Regressed first'],
  ['new', 'Newest first'],
  ['rate', 'Highest rate first'],
  ['recent', 'Last seen first'],
]

export function GroupsScreen() {
  const [params, set] = useParams()
  const query = groupsQuery(params)
  const { data, error, refetch } = useGroups(query)
  const isFiltered = query.state !== undefined || query.channel !== undefined || query.search !== undefined
  return (
    <Page
      name="Groups"
      lead="Dead letters with the same cause form a group. Fix the cause, then replay the group."
    >
      <div className="filters">
        <SearchField label="Search groups" value={query.search ?? ''} onSearch={search => set({ search })} />
        <Select
          label="State"
          hideLabel
          value={(query.state ?? '') as ''}
          of={STATES as never}
          onChange={state => set({ state })}
        />
        <ChannelChoice value={query.channel ?? ''} onChange={channel => set({ channel })} />
        <Select
          label="Order"
          hideLabel
          value={(query.sort ?? 'regressed') as GroupSort}
          of={SORTS}
          onChange={sort => set({ sort: sort === 'regressed' ? '' : sort })}
        />
      </div>
      {error && <ErrorNote error={error} onRetry={refetch} />}
      <MissingData faults={data?.faults} />
      {data === undefined ? (
        !error && <Loading rows={8} />
      ) : data.groups.length === 0 ? (
        <Panel>
          {isFiltered ? (
            <Empty title="No group matches">
              <p>Remove a filter, or view all groups.</p>
              <LinkButton href="/groups">View all groups</LinkButton>
            </Empty>
          ) : (
            <Empty title="No groups yet">
              Dead letters appear here, grouped by cause. Successful retries do not create dead letters.
            </Empty>
          )}
        </Panel>
      ) : (
        <Panel bare>
          <GroupTable groups={data.groups} />
        </Panel>
      )}
      <Paging cursor={data?.cursor} isBehind={query.cursor !== undefined} />
    </Page>
  )
}

function Paging({ cursor, isBehind }: { cursor: string | undefined; isBehind: boolean }) {
  const search = useSearch()
  const [path] = useLocation()
  if (cursor === undefined && !isBehind) return null
  return (
    <nav className="row" aria-label="Pages">
      {isBehind && <LinkButton href={urlWith(path, search, { cursor: undefined })}>First page</LinkButton>}
      {cursor && <LinkButton href={urlWith(path, search, { cursor })}>Next page</LinkButton>}
    </nav>
  )
}
