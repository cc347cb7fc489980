import { type FormEvent, useState } from 'react'
import { triage, useChange } from '../../api/actions.ts'
import type { GroupDetail } from '../../api/types.ts'
import { now } from '../../lib/browser-clock.ts'
import { readSpan } from '../../lib/times.ts'
import { Button } from '../../ui/buttons.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select } from '../../ui/fields.tsx'
import { ErrorNote } from '../../ui/notes.tsx'

const SPANS = [
  ['1h', '1 hour'],
  ['8h', '8 hours'],
  ['24h', '1 day'],
  ['7d', '7 days'],
  ['30d', '30 days'],
] as const

/** Muting ends automatically: no group stays muted without limit. */
export function MuteDialog({ group, onClose }: { group: GroupDetail; onClose: () => void }) {
  const [span, setSpan] = useState<(typeof SPANS)[number][0]>('8h')
  const mute = useChange((ms: number) =>
    triage(group.id, { state: 'muted', mutedUntil: new Date(now() + ms).toISOString() }),
  )
  function submit(event: FormEvent) {
    event.preventDefault()
    mute.mutate(readSpan(span) ?? 0, { onSuccess: onClose })
  }
  return (
    <Dialog title="Mute group" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p className="quiet-prose">
          A muted group no longer asks for attention. Its letters are kept, and it reopens automatically when
          the time is up.
        </p>
        <Select label="Duration" value={span} of={SPANS} onChange={setSpan} />
        {mute.error && <ErrorNote error={mute.error} />}
        <div className="row end">
          <Button onPress={onClose}>Keep unmuted</Button>
          <Button type="submit" look="main" busy={mute.isPending}>
            Mute group
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
