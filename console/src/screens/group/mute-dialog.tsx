import { type FormEvent, useState } from 'react'
import { triage, useChange } from '../../api/actions.ts'
import type { GroupDetail } from '../../api/types.ts'
import { now } from '../../lib/browser-clock.ts'
import { readSpan } from '../../lib/times.ts'
import { Button } from '../../ui/buttons.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Choice } from '../../ui/fields.tsx'
import { Trouble } from '../../ui/notes.tsx'

const SPANS = [
  ['1h', 'an hour'],
  ['8h', '8 hours'],
  ['24h', 'a day'],
  ['7d', 'a week'],
  ['30d', '30 days'],
] as const

/** Muting ends by itself: nothing is silent for ever. */
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
    <Dialog title="Mute this group" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p className="quiet-prose">
          Its letters are kept as ever; it only stops asking for attention. It opens again by itself when the
          time is over.
        </p>
        <Choice label="For" value={span} of={SPANS} onChange={setSpan} />
        {mute.error && <Trouble error={mute.error} />}
        <div className="row end">
          <Button onPress={onClose}>Leave it</Button>
          <Button type="submit" look="main" busy={mute.isPending}>
            Mute
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
