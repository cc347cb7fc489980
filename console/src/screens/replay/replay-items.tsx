import { Link } from 'wouter'
import { useReplayItems } from '../../api/queries.ts'
import type { ItemStatus, Replay, ReplayItem } from '../../api/types.ts'
import { letterPath, replayPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { span } from '../../lib/times.ts'
import { useParams } from '../../lib/use-search-params.ts'
import { LinkButton } from '../../ui/buttons.tsx'
import { OUTCOMES } from '../../ui/charts.tsx'
import { Select } from '../../ui/fields.tsx'
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx'
import { Panel } from '../../ui/page.tsx'
import { Table } from '../../ui/table.tsx'
import { ClockTime } from '../../ui/time.tsx'

const PAGE = 100
const WORDS: Readonly<Record<string, string>> = Object.fromEntries(
  OUTCOMES.map(({ status, word }) => [status, word]),
)

/** Letter by letter, in the order of sending. */
export function ReplayItems({ replay }: { replay: Replay }) {
  const [params, setParams] = useParams()
  const status = (params.get('status') ?? '') as ItemStatus | ''
  const after = params.get('after') ?? undefined
  const { data, error, refetch } = useReplayItems(replay.id, {
    status: status || undefined,
    after,
    limit: PAGE,
  })
  const base = replayPath(replay.id)
  const linkTo = (behind: number) =>
    `${base}?${new URLSearchParams({ ...(status === '' ? {} : { status }), after: String(behind) })}`
  return (
    <Panel
      title="Letters"
      bare
      aside={
        <Select
          label="Outcome"
          hideLabel
          value={status}
          of={[['', 'All outcomes'] as const, ...OUTCOMES.map(each => [each.status, each.word] as const)]}
          onChange={chosen => setParams({ status: chosen, after: undefined })}
        />
      }
    >
      {error && <ErrorNote error={error} onRetry={refetch} />}
      {data === undefined ? (
        !error && <Loading />
      ) : data.items.length === 0 ? (
        <Empty title="No matching letters">Choose another outcome.</Empty>
      ) : (
        <Rows items={data.items} />
      )}
      {data?.after !== undefined && (
        <div className="table-foot">
          <LinkButton href={linkTo(data.after)}>Next page</LinkButton>
        </div>
      )}
    </Panel>
  )
}

function Rows({ items }: { items: readonly ReplayItem[] }) {
  return (
    <Table kind="items">
      <thead>
        <tr>
          <th scope="col" className="number col-place">
            #
          </th>
          <th scope="col">Letter</th>
          <th scope="col" className="col-outcome">
            Outcome
          </th>
          <th scope="col" className="col-sent">
            Sent
          </th>
          <th scope="col" className="number col-took">
            Duration
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map(item => (
          <tr key={item.position} className="linked">
            <td className="pick number quiet">{item.position + 1}</td>
            <td className="title">
              <Link href={letterPath(item.letterId)} className="row-link mono small clip external-text">
                {plainText(item.letterId)}
              </Link>
              {item.reason && <div className="small quiet external-text">{plainText(item.reason)}</div>}
            </td>
            <td data-name="Outcome">
              <span className="outcome">
                <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true" focusable="false">
                  <rect width="12" height="12" rx="3" className={`outcome-${item.status}`} />
                </svg>
                {WORDS[item.status] ?? item.status}
              </span>
            </td>
            <td data-name="Sent">{item.sentAt && <ClockTime at={item.sentAt} />}</td>
            <td className="number quiet" data-name="Duration">
              {item.sentAt && item.endedAt && span(Date.parse(item.endedAt) - Date.parse(item.sentAt))}
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}
