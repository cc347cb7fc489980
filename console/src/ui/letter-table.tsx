import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import type { LetterSummary } from '../api/types.ts'
import type { LetterSort } from '../lib/letter-order.ts'
import { useCan } from '../lib/use-can.ts'
import { type LetterColumns, LetterRow, MANY_CAUSES, ONE_CAUSE, type Selection } from './letter-row.tsx'
import { Table } from './table.tsx'
import './letter-table.css'

/** As a row of a table; a card is measured when it is drawn. */
const ROW_HEIGHT = 57
const OVERSCAN = 8

/** The order of a list, and the address of the list in the order after a click on a heading. */
export interface Sorting {
  readonly sort: LetterSort
  readonly isDescending: boolean
  urlAfterClick(sort: LetterSort): string
}

/** Letters in the order of the list. Only the rows in sight are in the page, however many there are. */
export function LetterTable({
  letters,
  selection,
  isOneCause = false,
  sorting,
}: {
  letters: readonly LetterSummary[]
  selection?: Selection | undefined
  /** Letters of one cause are told apart by their events, not by their failure. */
  isOneCause?: boolean
  /** Makes the headings links that sort. */
  sorting?: Sorting
}) {
  const table = useRef<HTMLTableElement>(null)
  const [top, setTop] = useState(0)
  const { allowed: canReplay } = useCan('replay.plan')
  // Measured again at every drawing: a notice that comes above it moves it down.
  useLayoutEffect(() => {
    const box = table.current?.tHead?.getBoundingClientRect()
    if (box !== undefined) setTop(Math.round(box.bottom + window.scrollY))
  })
  const rows = useWindowVirtualizer({
    count: letters.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    scrollMargin: top,
    // Known before it is measured: the first drawing has the rows already.
    initialRect: { width: window.innerWidth, height: window.innerHeight },
  })
  const shown = rows.getVirtualItems()
  const before = (shown[0]?.start ?? top) - top
  const behind = rows.getTotalSize() - ((shown.at(-1)?.end ?? top) - top)
  const columns = isOneCause ? ONE_CAUSE : MANY_CAUSES
  const width = columns.length + (selection ? 1 : 0)
  return (
    <Table kind="letters" ref={table} rowCount={letters.length + 1}>
      <Head letters={letters} selection={selection} columns={columns} sorting={sorting} />
      <tbody>
        <Spacer height={before} width={width} />
        {shown.map(({ index }) => (
          <LetterRow
            key={letters[index]!.id}
            letter={letters[index]!}
            place={index}
            selection={selection}
            columns={columns}
            canReplay={canReplay}
            ref={rows.measureElement}
          />
        ))}
        <Spacer height={behind} width={width} />
      </tbody>
    </Table>
  )
}

function Head({
  letters,
  selection,
  columns,
  sorting,
}: {
  letters: readonly LetterSummary[]
  selection: Selection | undefined
  columns: LetterColumns
  sorting: Sorting | undefined
}) {
  const isAll =
    selection !== undefined && letters.length > 0 && letters.every(({ id }) => selection.ids.has(id))
  return (
    <thead>
      <tr>
        {selection && (
          <th scope="col" className="col-pick" data-name="Select this page">
            <input
              type="checkbox"
              aria-label={`Select all ${letters.length} letters on this page`}
              checked={isAll}
              onChange={selection.onTogglePage}
            />
          </th>
        )}
        {columns.map(({ name, id, sort }) => (
          <th key={id} scope="col" className={`col-${id}`} aria-sort={ariaSort(sorting, sort)}>
            {sorting === undefined ? (
              name
            ) : (
              <Link href={sorting.urlAfterClick(sort)} className="sort-link">
                {name}
                {sorting.sort === sort && (
                  <span aria-hidden="true">{sorting.isDescending ? ' ↓' : ' ↑'}</span>
                )}
              </Link>
            )}
          </th>
        ))}
      </tr>
    </thead>
  )
}

function ariaSort(sorting: Sorting | undefined, sort: LetterSort): 'ascending' | 'descending' | undefined {
  if (sorting?.sort !== sort) return undefined
  return sorting.isDescending ? 'descending' : 'ascending'
}

/** Stands for the rows that are not in the page. Its height is set by script: the policy forbids style attributes. */
function Spacer({ height, width }: { height: number; width: number }) {
  const cell = useRef<HTMLTableCellElement>(null)
  useLayoutEffect(() => {
    if (cell.current) cell.current.style.height = `${height}px`
  }, [height])
  if (height <= 0) return null
  return (
    <tr>
      <td className="spacer" colSpan={width} ref={cell} />
    </tr>
  )
}
