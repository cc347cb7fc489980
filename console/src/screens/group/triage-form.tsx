import { type FormEvent, useState } from 'react'
import { triage, useChange } from '../../api/actions.ts'
import type { GroupDetail } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { useCan } from '../../lib/use-can.ts'
import { Button } from '../../ui/buttons.tsx'
import { Field } from '../../ui/fields.tsx'
import { ErrorNote } from '../../ui/notes.tsx'
import { Facts } from '../../ui/page.tsx'
import { Timestamp } from '../../ui/time.tsx'

/** Owner and ticket. The state is changed by the buttons at the top. */
export function TriageForm({ group }: { group: GroupDetail }) {
  const can = useCan('group.triage')
  const [isEditing, setEditing] = useState(false)
  const [owner, setOwner] = useState(group.owner ?? '')
  const [link, setLink] = useState(group.link ?? '')
  const change = useChange(() => triage(group.id, { owner: owner.trim() || null, link: link.trim() || null }))
  if (!isEditing)
    return (
      <div className="stack">
        <Facts
          of={[
            [
              'owner',
              group.owner ? (
                plainText(group.owner)
              ) : (
                <span key="owner" className="quiet">
                  Unassigned
                </span>
              ),
            ],
            ['ticket', group.link && <OutLink href={group.link} />],
            ['changed by', group.setBy && plainText(group.setBy)],
            ['changed', group.setAt && <Timestamp at={group.setAt} />],
          ]}
        />
        <div className="row">
          <Button may={can} onPress={() => setEditing(true)}>
            Change owner or ticket
          </Button>
        </div>
      </div>
    )
  function submit(event: FormEvent) {
    event.preventDefault()
    change.mutate(undefined, { onSuccess: () => setEditing(false) })
  }
  return (
    <form className="stack" onSubmit={submit}>
      <Field label="Owner" value={owner} onChange={setOwner} maxLength={200} autoFocus />
      <Field label="Ticket" value={link} onChange={setLink} placeholder="https://…" maxLength={2_000} />
      {change.error && <ErrorNote error={change.error} />}
      <div className="row">
        <Button type="submit" look="main" busy={change.isPending}>
          Save
        </Button>
        <Button onPress={() => setEditing(false)}>Keep as is</Button>
      </div>
    </form>
  )
}

/** The server takes web addresses only; whatever else might be stored is shown and not linked. */
function OutLink({ href }: { href: string }) {
  if (!/^https?:\/\//.test(href)) return <>{plainText(href)}</>
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {plainText(href)}
    </a>
  )
}
