import { useMemo, useState } from 'react'
import { useSearch } from 'wouter'
import { useLetterPage, useLetterStats } from '../../api/queries.ts'
import { lettersQuery } from '../../api/screen-queries.ts'
import type { LetterPage, LetterStats, StillBlocked } from '../../api/types.ts'
import { now } from '../../lib/browser-clock.ts'
import { type FilterTexts, lettersUrl, readFilter } from '../../lib/letter-filters.ts'
import { type ListOrder, orderAfterClick, orderParams, readOrder } from '../../lib/letter-order.ts'
import { counted } from '../../lib/numbers.ts'
import { useSelection } from '../../lib/use-selection.ts'
import { LinkButton } from '../../ui/buttons.tsx'
import { LetterTable } from '../../ui/letter-table.tsx'
import { Empty, ErrorNote, Loading, MissingData } from '../../ui/notes.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { FilterBar } from './filter-bar.tsx'
import { OrderBar } from './order-bar.tsx'
import { SavedViews } from './saved-views.tsx'
import { SelectionBar } from './selection-bar.tsx'
import { ShowNewLetters } from './show-new-letters.tsx'
import { StillBlockedDialog } from './still-blocked.tsx'

export function LettersScreen() {
  const search = useSearch()
  const texts = useMemo(() => readFilter(search), [search])
  // Durations such as 1h are counted from the request, not again on every render.
  const { filter, page: query } = useMemo(() => lettersQuery(search, now()), [search])
  const page = useLetterPage(query)
  const stats = useLetterStats(filter)
  const order = useMemo(() => readOrder(search), [search])
  const isBehind = query.cursor !== undefined || query.startAt !== undefined
  return (
    <Page name="Letters" lead={<Lead stats={stats.data} />}>
      <SavedViews texts={texts} />
      <FilterBar texts={texts} stats={stats.data} />
      <OrderBar order={order} />
      {page.error && <ErrorNote error={page.error} onRetry={page.refetch} />}
      <MissingData faults={page.data?.faults} />
      {page.data === undefined ? (
        !page.error && <Loading rows={10} />
      ) : (
        <>
          <ShowNewLetters
            page={page.data}
            stats={stats.data}
            isFirst={!isBehind && order.sort === 'lastFailed' && order.isDescending}
            onShow={page.refetch}
          />
          <Letters page={page.data} texts={texts} stats={stats.data} order={order} />
          <Paging page={page.data} texts={texts} isBehind={isBehind} order={order} />
        </>
      )}
    </Page>
  )
}

function Lead({ stats }: { stats: LetterStats | undefined }) {
  if (stats === undefined) return <>Counting…</>
  return (
    <>
      <span>
        {stats.atLeast && 'At least '}
        {counted(stats.count, 'letter matches', 'letters match')}
      </span>
      {stats.oldestAt && <RelativeTime at={stats.oldestAt} prefix="oldest failed " />}
      {stats.newestAt && <RelativeTime at={stats.newestAt} prefix="newest failed " />}
    </>
  )
}

interface LettersProps {
  readonly page: LetterPage
  readonly texts: FilterTexts
  readonly stats: LetterStats | undefined
  readonly order: ListOrder
}

/** A discard of all letters empties the list and removes its bar. The dialog about blocked keys stays. */
function Letters(props: LettersProps) {
  const [blocked, setBlocked] = useState<StillBlocked>()
  return (
    <>
      <LetterList {...props} onBlocked={setBlocked} />
      {blocked && <StillBlockedDialog blocked={blocked} onClose={() => setBlocked(undefined)} />}
    </>
  )
}

function LetterList({
  page,
  texts,
  stats,
  order,
  onBlocked,
}: LettersProps & { readonly onBlocked: (blocked: StillBlocked) => void }) {
  const selection = useSelection(page.letters)
  if (page.letters.length === 0 && page.cursor !== undefined)
    return (
      <Panel>
        <Empty title="No match so far">The search continues with older letters.</Empty>
      </Panel>
    )
  if (page.letters.length === 0)
    return (
      <Panel>
        {Object.keys(texts).length > 0 ? (
          <Empty title="No letter matches">
            <p>Remove a filter, or view all letters.</p>
            <LinkButton href="/letters">View all letters</LinkButton>
          </Empty>
        ) : (
          <Empty title="No dead letters">
            Events that Lazaret has given up on appear here. Successful retries do not create dead letters.
          </Empty>
        )}
      </Panel>
    )
  return (
    <>
      <SelectionBar page={page} selected={selection.ids} texts={texts} stats={stats} onBlocked={onBlocked} />
      <Panel bare>
        <LetterTable
          letters={page.letters}
          selection={selection}
          sorting={{
            ...order,
            urlAfterClick: sort => lettersUrl(texts, orderParams(orderAfterClick(order, sort))),
          }}
        />
      </Panel>
    </>
  )
}

function Paging({
  page,
  texts,
  isBehind,
  order,
}: {
  page: LetterPage
  texts: FilterTexts
  isBehind: boolean
  order: ListOrder
}) {
  if (page.cursor === undefined && !isBehind) return null
  const params = orderParams(order)
  const isNewestFirst = Object.keys(params).length === 0
  return (
    <nav className="row" aria-label="Pages">
      {isBehind && (
        <LinkButton href={lettersUrl(texts, params)}>
          {isNewestFirst ? 'Newest letters' : 'First page'}
        </LinkButton>
      )}
      {page.cursor && (
        <LinkButton href={lettersUrl(texts, { ...params, cursor: page.cursor })}>
          {isNewestFirst ? 'Older letters' : 'Next page'}
        </LinkButton>
      )}
      <span className="quiet small">
        {counted(page.letters.length, 'letter')} on this page
        {page.examined !== undefined &&
          `, found by reading ${counted(page.examined, 'letter')}. A filter by channel, group or time reads fewer.`}
      </span>
    </nav>
  )
}
