import type { StillBlocked } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Button } from '../../ui/buttons.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Note } from '../../ui/notes.tsx'

interface StillBlockedProps {
  readonly blocked: StillBlocked
  readonly onClose: () => void
}

/** After a discard: which events still wait, in the words of the server, with what to do. */
export function StillBlockedDialog({ blocked, onClose }: StillBlockedProps) {
  return (
    <Dialog title={blocked.count === 1 ? 'Key still blocked' : 'Keys still blocked'} onClose={onClose}>
      <div className="stack">
        <Note tone="signal">
          {blocked.problems.map(problem => (
            <p key={problem} className="external-text">
              {plainText(problem)}
            </p>
          ))}
        </Note>
        <div className="row end">
          <Button onPress={onClose}>Close</Button>
        </div>
      </div>
    </Dialog>
  )
}
