import type { ReactNode, Ref } from 'react'
import './table.css'

interface TableProps {
  /** Names its columns in the style sheet of its screen. */
  readonly kind: string
  /** Whether it has so many columns that it needs the room of a large screen [false]. */
  readonly wide?: boolean
  readonly ref?: Ref<HTMLTableElement>
  readonly rowCount?: number
  readonly children: ReactNode
}

/**
 * A table that turns its rows into cards where its own room is too narrow for columns. `data-name` of a cell is what the card
 * calls it; a cell of class `title` or `actions` has a line for itself.
 */
export function Table({ kind, wide = false, ref, rowCount, children }: TableProps) {
  return (
    <div className={wide ? 'table-room wide' : 'table-room'}>
      <table className={`table ${kind}`} ref={ref} aria-rowcount={rowCount}>
        {children}
      </table>
    </div>
  )
}
