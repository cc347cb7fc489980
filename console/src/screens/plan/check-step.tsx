import type { PlanBody } from '../../api/types.ts'
import { counted, percent } from '../../lib/numbers.ts'
import { span } from '../../lib/times.ts'
import { Checkbox, Field } from '../../ui/fields.tsx'
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
          ['target', body.to ?? 'original channel of each letter'],
          ['edit', body.patch ? counted(body.patch.length, 'operation') : 'none'],
          ['pace', `stages ${form.stages}; up to ${form.perSecond} per second`],
          [
            'halts',
            `if over ${percent(body.haltRefailRatio ?? 0)} fail again${form.haltOnSame ? ', or if the first letters fail with the same cause' : ''}`,
          ],
          ['age limit', body.maxAgeMs === undefined ? '' : span(body.maxAgeMs)],
          ['quarantined', form.allowQuarantined ? 'included' : 'excluded unless edited'],
        ]}
      />
      <Field
        label="Reason for replay"
        value={form.reason}
        hint={faults.reason ?? 'Recorded with the replay and in the audit log. The approver reads it.'}
        placeholder="e.g. tax service recovered at 03:10"
        maxLength={1_000}
        onChange={reason => set({ reason })}
        autoFocus
      />
      {needsApproval ? (
        <p className="quiet small">
          This server requires a second person to approve the replay before it can start.
        </p>
      ) : (
        <Checkbox
          label="Require approval by a second person"
          checked={form.needsApproval}
          onChange={checked => set({ needsApproval: checked })}
        />
      )}
      <p className="quiet small">
        The next page shows how many letters pass each gate and why the others are blocked. You start the
        replay there.
      </p>
    </>
  )
}
