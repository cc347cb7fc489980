import { useState } from 'react'
import { reveal, useChange } from '../../api/actions.ts'
import type { Json } from '../../api/types.ts'
import { patchBetween } from '../../lib/patch-between.ts'
import { useCan } from '../../lib/use-can.ts'
import { Button } from '../../ui/buttons.tsx'
import { AskReason } from '../../ui/dialog.tsx'
import { Field } from '../../ui/fields.tsx'
import { Note } from '../../ui/notes.tsx'

/** One letter can be edited as a whole; the patch follows from what was typed. It has to be revealed for that. */
export function EditOne({ id, onPatch }: { id: string; onPatch: (patch: string) => void }) {
  const can = useCan('letter.reveal')
  const change = useChange((reason: string) => reveal(id, reason))
  const [isAsking, setAsking] = useState(false)
  const [original, setOriginal] = useState<Json>()
  const [text, setText] = useState('')
  const [fault, setFault] = useState<string>()

  function edit(typed: string) {
    setText(typed)
    try {
      const patch = patchBetween(original ?? null, JSON.parse(typed) as Json)
      setFault(undefined)
      onPatch(JSON.stringify(patch, null, 2))
    } catch (error) {
      setFault(`Not valid JSON: ${(error as Error).message}`)
    }
  }

  if (original !== undefined)
    return (
      <Field
        label="Payload"
        rows={14}
        mono
        value={text}
        fault={fault}
        hint="The patch below is generated from your edits."
        onChange={edit}
      />
    )
  return (
    <>
      <Note tone="sea">
        <span>Write a patch below, or edit the payload to generate one.</span>
        <Button may={can} onPress={() => setAsking(true)}>
          Reveal and edit payload…
        </Button>
      </Note>
      {isAsking && (
        <AskReason
          title="Reveal payload for editing"
          verb="Reveal payload"
          keep="Keep masked"
          onClose={() => setAsking(false)}
          onAnswer={async reason => {
            const { payload } = await change.mutateAsync(reason)
            if (payload === undefined) throw new Error('The payload is binary and cannot be edited here.')
            setOriginal(payload)
            setText(JSON.stringify(payload, null, 2))
          }}
        >
          <p>Your edits become a patch that contains only the changes.</p>
        </AskReason>
      )}
    </>
  )
}
