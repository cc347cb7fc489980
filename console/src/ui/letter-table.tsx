import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState } from 'react'
import type { LetterSummary } from '../api/types.ts'
import { type LetterColumns, LetterRow, MANY_CAUSES, ONE_CAUSE, type Selection } from './letter-row.tsx'
import { Table } from './table.tsx'
import './letter-table.css'

/** As a row of a table; a card is measured when it is drawn. */
const ROW_HEIGHT = 57
const OVERSCAN = 8

/** Letters, newest failure first. Only the rows in sight are in the page, however many there are. */
export function LetterTable({
  letters,
  selection,
  isOneCause = false,
}: {
  letters: readonly LetterSummary[]
  selection?: Selection | undefined
  /** Letters of one cause are told apart by their events, not by their failure. */
  isOneCause?: boolean
}) {
  const table = useRef<HTMLTableElement>(null)
  const [top, setTop] = useState(0)
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
      <Head letters={letters} selection={selection} columns={columns} />
      <tbody>
        <Spacer height={before} width={width} />
        {shown.map(({ index }) => (
          <LetterRow
            key={letters[index]!.id}
            letter={letters[index]!}
            place={index}
            selection={selection}
            columns={columns}
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
}: {
  letters: readonly LetterSummary[]
  selection: Selection | undefined
  columns: LetterColumns
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
        {columns.map(({ name, id }) => (
          <th key={id} scope="col" className={`col-${id}`}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
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
