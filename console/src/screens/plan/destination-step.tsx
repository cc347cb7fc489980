import { useChannels } from '../../api/queries.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Field, Segments, Select } from '../../ui/fields.tsx'
import { EditOne } from './edit-one.tsx'
import type { StepProps } from './letters-step.tsx'
import { PatchPreview } from './patch-preview.tsx'

const SAMPLE_PATCH = '[\n  { "op": "replace", "path": "/field", "value": "…" }\n]'

export function DestinationStep({ form, faults, selection, set }: StepProps) {
  const { data } = useChannels()
  const channels = data?.channels.map(({ channel }) => channel) ?? []
  const single = 'ids' in selection && selection.ids.length === 1 ? selection.ids[0] : undefined
  return (
    <>
      <Select
        label="Target channel"
        value={form.to}
        of={[
          ['', 'Original channel of each letter'] as const,
          ...channels.map(channel => [channel, plainText(channel)] as const),
        ]}
        onChange={to => set({ to })}
      />
      <div className="field">
        <span className="label">Payload to send</span>
        <Segments
          label="Payload to send"
          value={form.change}
          of={[
            ['none', 'Unchanged'],
            ['patch', 'Apply a JSON Patch'],
          ]}
          onChange={change => set({ change })}
        />
      </div>
      {form.change === 'patch' && (
        <>
          {single !== undefined && <EditOne id={single} onPatch={patch => set({ patch })} />}
          <Field
            label="JSON Patch (RFC 6902), applied to every payload"
            rows={7}
            mono
            value={form.patch}
            // Nobody has typed anything yet that could be wrong.
            fault={form.patch === '' ? undefined : faults.patch}
            placeholder={SAMPLE_PATCH}
            hint="The letters keep their original payload. Quarantined letters can be sent once edited."
            onChange={patch => set({ patch })}
          />
          <PatchPreview form={form} selection={selection} hasFault={faults.patch !== undefined} />
        </>
      )}
    </>
  )
}
