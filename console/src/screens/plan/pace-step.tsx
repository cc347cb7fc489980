import { whole } from '../../lib/numbers.ts'
import { readStages, stageSizes } from '../../lib/plan-form.ts'
import { span } from '../../lib/times.ts'
import { Checkbox, Field } from '../../ui/fields.tsx'
import type { StepProps } from './letters-step.tsx'

export function PaceStep({ form, faults, count, set }: StepProps) {
  const stages = readStages(form.stages)
  const perSecond = Number(form.perSecond)
  return (
    <>
      <div className="halves">
        <Field
          label="Stages"
          value={form.stages}
          fault={faults.stages}
          hint="Each stage waits for the outcomes of the previous stage."
          onChange={value => set({ stages: value })}
        />
        <Field
          label="Maximum letters per second"
          value={form.perSecond}
          fault={faults.perSecond}
          onChange={value => set({ perSecond: value })}
        />
      </div>
      {stages && count !== undefined && count > 0 && perSecond > 0 && (
        <ol className="stages" aria-label="Stages of this replay">
          {stageSizes(stages, count).map((size, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a stage is its place
            <li key={index}>
              <strong>{whole(size)}</strong>
              <span className="quiet small">{index === 0 ? 'first' : 'then'}</span>
            </li>
          ))}
          <li className="quiet small">at least {span((count / perSecond) * 1_000)} in total</li>
        </ol>
      )}
      <div className="halves">
        <Field
          label="Halt if more than this percentage fails again"
          value={form.haltPercent}
          fault={faults.haltPercent}
          hint="Percentage of the letters with an outcome."
          onChange={value => set({ haltPercent: value })}
        />
        <Field
          label="Skip letters older than"
          value={form.maxAge}
          fault={faults.maxAge}
          hint="Measured from the first failure. An event with its own time to live uses that instead."
          onChange={value => set({ maxAge: value })}
        />
      </div>
      <Checkbox
        label="Halt immediately if the first letters fail with the same cause"
        hint="The cause is then not fixed, and the other letters would fail too."
        checked={form.haltOnSame}
        onChange={haltOnSame => set({ haltOnSame })}
      />
      <Checkbox
        label="Include quarantined letters"
        hint="Quarantined letters are poison. Send them unchanged only if the cause is fixed."
        checked={form.allowQuarantined}
        onChange={allowQuarantined => set({ allowQuarantined })}
      />
      <Checkbox
        label="Skip letters that no schema has checked"
        hint="Otherwise they are sent, and their consumer checks them."
        checked={form.requireSchema}
        onChange={requireSchema => set({ requireSchema })}
      />
    </>
  )
}
