import type { Keeper } from '../journal/compaction.ts'
import type { LetterTable } from './letter-table.ts'
import { DELETED } from './sheet.ts'

/** Which lines of a journal of letters still count: those that the index points to. */
export function letterKeeper(table: LetterTable): Keeper {
  return {
    liveBytes: segment => table.index.live.bytes(segment),
    hasDead: segment => table.index.live.hasDead(segment),
    liveOffsets: segment => new Set(rowsByOffset(table, segment).keys()),
    move(segment, moves) {
      for (const [offset, row] of rowsByOffset(table, segment)) {
        const to = moves.get(offset)
        if (to !== undefined) table.index.move(row, to)
      }
      table.index.live.cleaned(segment, moves.size)
    },
  }
}

function rowsByOffset({ index }: LetterTable, segment: number): Map<number, number> {
  const { columns } = index
  const rows = new Map<number, number>()
  for (let row = 0; row < index.rows; row++) {
    if (columns.segment[row] === segment && columns.state[row] !== DELETED)
      rows.set(columns.offset[row]!, row)
  }
  return rows
}
