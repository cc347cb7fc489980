import { useState } from 'react'
import { purge, useChange } from '../../api/actions.ts'
import { usePurgePreview } from '../../api/queries.ts'
import type { PurgeBody } from '../../api/types.ts'
import { now } from '../../lib/browser-clock.ts'
import { type FilterTexts, filterForServer, filterInWords } from '../../lib/letter-filters.ts'
import { counted } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { AskReason, Dialog } from '../../ui/dialog.tsx'
import { ErrorNote } from '../../ui/notes.tsx'

/** Shows how many letters would go, and deletes these or none: the server compares them with the preview shown here. */
export function PurgeDialog({ texts, onClose }: { texts: FilterTexts; onClose: () => void }) {
  // "2 hours ago" is resolved once, so that the preview and the purge mean the same letters.
  const [filter] = useState(() => filterForServer(texts, now()))
  const preview = usePurgePreview({ filter })
  const change = useChange((body: PurgeBody) => purge(body))
  if (preview.data === undefined)
    return (
      <Dialog title="Delete letters permanently" onClose={onClose}>
        {preview.isError ? (
          <ErrorNote error={preview.error} onRetry={preview.refetch} />
        ) : (
          <p className="quiet">Counting the letters…</p>
        )}
      </Dialog>
    )
  const { count, until, digest } = preview.data
  return (
    <AskReason
      title={`Delete ${counted(count, 'letter')} permanently`}
      verb={`Delete ${counted(count, 'letter')}`}
      keep="Keep letters"
      danger
      onClose={onClose}
      onAnswer={reason => change.mutateAsync({ filter, expectedCount: count, until, digest, reason })}
    >
      <p>
        This deletes every matching letter, on all pages: <strong>{plainText(filterInWords(texts))}</strong>.
        Their events cannot be replayed afterwards.
      </p>
      <p>
        If the matching letters change before you confirm, nothing is deleted. Letters that fail from now on
        are kept.
      </p>
    </AskReason>
  )
}
