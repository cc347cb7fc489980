import { useLocation, useSearch } from 'wouter'
import { useAudit } from '../../api/queries.ts'
import { auditQuery } from '../../api/screen-queries.ts'
import { plainText } from '../../lib/plain-text.ts'
import { urlWith, useParams } from '../../lib/use-search-params.ts'
import { AuditTable } from '../../ui/audit-table.tsx'
import { LinkButton } from '../../ui/buttons.tsx'
import { Select } from '../../ui/fields.tsx'
import { ErrorNote, Loading, MissingData } from '../../ui/notes.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import { SearchField } from '../../ui/search-field.tsx'

const ACTIONS = [
  'payload.reveal',
  'letter.discard',
  'letter.reopen',
  'letters.purge',
  'letters.discard',
  'letters.release',
  'letters.assign',
  'letters.export',
  'replay.plan',
  'replay.approve',
  'replay.start',
  'replay.pause',
  'replay.resume',
  'replay.cancel',
  'breaker.force',
  'consumer.pause',
  'consumer.resume',
  'fleet.pause',
  'fleet.resume',
  'fleet.breaker',
] as const

export function AuditScreen() {
  const [params, set] = useParams()
  const search = useSearch()
  const [path] = useLocation()
  const query = auditQuery(params)
  const { by, action, target, cursor } = query
  const { data, error, refetch } = useAudit(query)
  const names = action === '' || ACTIONS.some(each => each === action) ? ACTIONS : [...ACTIONS, action]
  const people = [
    ...new Set([...(by === '' ? [] : [by]), ...(data?.entries ?? []).map(entry => entry.by)]),
  ].sort()
  return (
    <Page
      name="Audit"
      lead="Who did what, and when. Each entry is written before its change is confirmed, and never modified."
    >
      <div className="filters">
        <SearchField
          label="Search by exact letter, group or replay id"
          value={target}
          onSearch={text => set({ target: text })}
        />
        <Select
          label="Action"
          hideLabel
          value={action}
          of={[['', 'All actions'] as const, ...names.map(name => [name, name] as const)]}
          onChange={chosen => set({ action: chosen })}
        />
        <Select
          label="Person"
          hideLabel
          value={by}
          of={[['', 'Everybody'] as const, ...people.map(name => [name, plainText(name)] as const)]}
          onChange={chosen => set({ by: chosen })}
        />
      </div>
      {error && <ErrorNote error={error} onRetry={refetch} />}
      <MissingData faults={data?.faults} />
      {data === undefined ? (
        !error && <Loading rows={10} />
      ) : (
        <Panel bare>
          <AuditTable entries={data.entries} />
        </Panel>
      )}
      {(data?.cursor !== undefined || cursor !== undefined) && (
        <nav className="row" aria-label="Pages">
          {cursor && (
            <LinkButton href={urlWith(path, search, { cursor: undefined })}>Newest entries</LinkButton>
          )}
          {data?.cursor && (
            <LinkButton href={urlWith(path, search, { cursor: data.cursor })}>Older entries</LinkButton>
          )}
        </nav>
      )}
    </Page>
  )
}
