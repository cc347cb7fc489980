import { useChannels } from '../../api/queries.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Choice, Field, Segments } from '../../ui/fields.tsx'
import { EditOne } from './edit-one.tsx'
import type { StepProps } from './letters-step.tsx'
import { PatchPreview } from './patch-preview.tsx'

export function DestinationStep({ form, faults, selection, set }: StepProps) {
  const { data } = useChannels()
  const channels = data?.channels.map(({ channel }) => channel) ?? []
  const single = 'ids' in selection && selection.ids.length === 1 ? selection.ids[0] : undefined
  return (
    <>
      <Choice
        label="Send them to"
        value={form.to}
        of={[
          ['', 'the channel each came from'] as const,
          ...channels.map(channel => [channel, plainText(channel)] as const),
        ]}
        onChange={to => set({ to })}
      />
      <div className="field">
        <span className="label">What is sent</span>
        <Segments
          label="What is sent"
          value={form.change}
          of={[
            ['none', 'As it was'],
            ['patch', 'With a JSON Patch'],
          ]}
          onChange={change => set({ change })}
        />
      </div>
      {form.change === 'patch' && (
        <>
          {single !== undefined && <EditOne id={single} onPatch={patch => set({ patch })} />}
          <Field
            label="JSON Patch (RFC 6902), made on every payload"
            rows={7}
            mono
            value={form.patch}
            fault={faults.patch}
            hint="The letters keep the original. Quarantined letters may go when they are edited."
            onChange={patch => set({ patch })}
          />
          <PatchPreview form={form} selection={selection} hasFault={faults.patch !== undefined} />
        </>
      )}
    </>
  )
}
