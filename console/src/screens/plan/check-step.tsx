import type { PlanBody } from '../../api/types.ts'
import { counted, percent } from '../../lib/numbers.ts'
import { span } from '../../lib/times.ts'
import { Field, Tick } from '../../ui/fields.tsx'
import { Facts } from '../../ui/page.tsx'
import type { StepProps } from './letters-step.tsx'

/** The last step before anything is written down: what will be frozen, and why. */
export function CheckStep({
  form,
  faults,
  count,
  set,
  body,
  needsApproval,
}: StepProps & { body: PlanBody; needsApproval: boolean }) {
  return (
    <>
      <Facts
        of={[
          ['letters', count === undefined ? '…' : counted(count, 'letter')],
          ['to', body.to ?? 'the channel each came from'],
          ['edit', body.patch ? counted(body.patch.length, 'operation') : 'none: sent as they were'],
          ['pace', `${form.stages}, at most ${form.perSecond} per second`],
          [
            'halts',
            `above ${percent(body.haltRefailRatio ?? 0)} failed again${form.haltOnSame ? ', or when the same cause comes back first' : ''}`,
          ],
          ['age', body.maxAgeMs === undefined ? '' : `at most ${span(body.maxAgeMs)}`],
          ['quarantined', form.allowQuarantined ? 'sent too' : 'left out unless edited'],
        ]}
      />
      <Field
        label="Why are they sent again?"
        value={form.reason}
        hint={faults.reason ?? 'Kept with the replay and in the audit; whoever approves it reads it.'}
        placeholder="e.g. tax service is back since 03:10"
        maxLength={1_000}
        onChange={reason => set({ reason })}
        autoFocus
      />
      {needsApproval ? (
        <p className="quiet small">
          This server asks for a second person to approve it before it can be started.
        </p>
      ) : (
        <Tick
          label="Let a second person approve it first"
          checked={form.needsApproval}
          onChange={checked => set({ needsApproval: checked })}
        />
      )}
      <p className="quiet small">
        The next page shows how many letters each gate lets through and why the others stay. Only there can it
        be started.
      </p>
    </>
  )
}
