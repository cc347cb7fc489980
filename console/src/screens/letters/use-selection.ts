import { useMemo, useState } from 'react'
import type { LetterSummary } from '../../api/types.ts'
import type { Selection } from '../../ui/letter-row.tsx'

/** Which letters of this page are ticked. Another page starts with none: what is not in sight is not selected. */
export function useSelection(letters: readonly LetterSummary[]): Selection {
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set())
  const ids = useMemo(
    () => new Set(letters.filter(({ id }) => ticked.has(id)).map(({ id }) => id)),
    [letters, ticked],
  )
  return {
    ids,
    onToggle(id) {
      const next = new Set(ids)
      if (!next.delete(id)) next.add(id)
      setTicked(next)
    },
    onTogglePage() {
      setTicked(ids.size === letters.length ? new Set() : new Set(letters.map(({ id }) => id)))
    },
  }
}
