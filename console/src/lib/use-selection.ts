import { useMemo, useState } from 'react'
import type { LetterSummary } from '../api/types.ts'
import type { Selection } from '../ui/letter-row.tsx'

/** Which letters of this page are selected. Another page starts with none: letters of other pages are not selected. */
export function useSelection(letters: readonly LetterSummary[]): Selection {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const ids = useMemo(
    () => new Set(letters.filter(({ id }) => selected.has(id)).map(({ id }) => id)),
    [letters, selected],
  )
  return {
    ids,
    onToggle(id) {
      const next = new Set(ids)
      if (!next.delete(id)) next.add(id)
      setSelected(next)
    },
    onTogglePage() {
      setSelected(ids.size === letters.length ? new Set() : new Set(letters.map(({ id }) => id)))
    },
  }
}
