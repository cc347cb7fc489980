import { type FormEvent, useState } from 'react'
import { triage, useChange } from '../../api/actions.ts'
import type { GroupDetail } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { useCan } from '../../lib/use-can.ts'
import { Button } from '../../ui/buttons.tsx'
import { Field } from '../../ui/fields.tsx'
import { ErrorNote } from '../../ui/notes.tsx'
import { Panel } from '../../ui/page.tsx'
import { Timestamp } from '../../ui/time.tsx'

export function Notes({ group }: { group: GroupDetail }) {
  const can = useCan('group.triage')
  const [text, setText] = useState('')
  const add = useChange(() => triage(group.id, { note: text.trim() }))
  function submit(event: FormEvent) {
    event.preventDefault()
    if (text.trim() !== '') add.mutate(undefined, { onSuccess: () => setText('') })
  }
  return (
    <Panel>
      <div className="stack">
        {group.notes.length === 0 && (
          <p className="quiet">No notes yet. Write down what you found for the next person on call.</p>
        )}
        <ul className="note-list">
          {group.notes.toReversed().map(note => (
            <li key={`${note.at} ${note.by}`}>
              <div className="small">
                <strong className="external-text">{plainText(note.by)}</strong> <Timestamp at={note.at} />
              </div>
              <p className="external-text">{plainText(note.text)}</p>
            </li>
          ))}
        </ul>
        <form className="stack" onSubmit={submit}>
          <Field label="Note" rows={3} value={text} onChange={setText} maxLength={4_000} />
          {add.error && <ErrorNote error={add.error} />}
          <div className="row">
            <Button type="submit" busy={add.isPending} may={can}>
              Add note
            </Button>
          </div>
        </form>
      </div>
    </Panel>
  )
}
