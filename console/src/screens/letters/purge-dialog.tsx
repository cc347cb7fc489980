import { useEffect, useRef, useState } from 'react'
import { purge, useChange } from '../../api/actions.ts'
import { usePurgePreview } from '../../api/queries.ts'
import type { PurgeBody } from '../../api/types.ts'
import { now } from '../../lib/browser-clock.ts'
import { type FilterTexts, filterForServer, filterInWords } from '../../lib/letter-filters.ts'
import { counted } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Button } from '../../ui/buttons.tsx'
import { AskReason, Dialog } from '../../ui/dialog.tsx'
import { ErrorNote } from '../../ui/notes.tsx'

/** Shows how many letters would go, and deletes these or none: the server compares them with the preview shown here. */
export function PurgeDialog({ texts, onClose }: { texts: FilterTexts; onClose: () => void }) {
  // "2 hours ago" is resolved once, so that the preview and the purge mean the same letters.
  const [filter] = useState(() => filterForServer(texts, now()))
  const preview = usePurgePreview({ filter })
  const stop = useRef(new AbortController())
  const [deleted, setDeleted] = useState<number>()
  const change = useChange((body: PurgeBody) => purge(body, setDeleted, stop.current.signal))
  // The server cancels the purge when the connection closes, so leaving the dialog ends it as well.
  useEffect(() => () => stop.current.abort(), [])
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
  const { count, byState, until, digest } = preview.data
  if (deleted !== undefined)
    return (
      <PurgeProgress
        deleted={deleted}
        count={count}
        isOver={!change.isPending && change.data === undefined}
        error={change.error}
        onStop={() => stop.current.abort()}
        onClose={onClose}
      />
    )
  return (
    <AskReason
      title={`Delete ${counted(count, 'letter')} permanently`}
      verb={`Delete ${counted(count, 'letter')}`}
      keep="Keep letters"
      danger
      onClose={() => {
        // After a cancel the dialog stays and says how far the purge came.
        if (!stop.current.signal.aborted) onClose()
      }}
      onAnswer={reason => {
        stop.current = new AbortController()
        return change.mutateAsync({ filter, expectedCount: count, byState, until, digest, reason })
      }}
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

interface ProgressProps {
  readonly deleted: number
  readonly count: number
  readonly isOver: boolean
  readonly error: unknown
  readonly onStop: () => void
  readonly onClose: () => void
}

/** The progress of a purge, and after a cancel how far it came. The last batch may end after the cancel. */
function PurgeProgress({ deleted, count, isOver, error, onStop, onClose }: ProgressProps) {
  return (
    <Dialog
      title={error ? 'Purge failed' : isOver ? 'Purge cancelled' : 'Deleting letters'}
      onClose={onClose}
    >
      <div className="stack">
        <progress value={deleted} max={count} aria-label="Deleted letters" />
        <p role="status">
          {isOver
            ? `At least ${deleted} of ${counted(count, 'letter')} were deleted. The others stay. The audit log has the exact number.`
            : `${deleted} of ${counted(count, 'letter')} deleted`}
        </p>
        {error !== null && <ErrorNote error={error} />}
        <div className="row end">
          {isOver ? <Button onPress={onClose}>Close</Button> : <Button onPress={onStop}>Cancel purge</Button>}
        </div>
      </div>
    </Dialog>
  )
}
