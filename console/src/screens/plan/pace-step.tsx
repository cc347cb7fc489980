import { whole } from '../../lib/numbers.ts'
import { readStages, stageSizes } from '../../lib/plan-form.ts'
import { span } from '../../lib/times.ts'
import { Field, Tick } from '../../ui/fields.tsx'
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
          hint="Each stage waits for the outcomes of the one before."
          onChange={value => set({ stages: value })}
        />
        <Field
          label="Letters per second, at most"
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
          <li className="quiet small">at least {span((count / perSecond) * 1_000)} in all</li>
        </ol>
      )}
      <div className="halves">
        <Field
          label="Halt when more than this share fails again, in %"
          value={form.haltPercent}
          fault={faults.haltPercent}
          hint="Of those with an outcome."
          onChange={value => set({ haltPercent: value })}
        />
        <Field
          label="Leave out what first failed longer ago than"
          value={form.maxAge}
          fault={faults.maxAge}
          hint="An event with a time to live of its own keeps to that."
          onChange={value => set({ maxAge: value })}
        />
      </div>
      <Tick
        label="Halt at once when the first ones fail with the cause they had"
        hint="Then the cause is not mended, and the others would only fail too."
        checked={form.haltOnSame}
        onChange={haltOnSame => set({ haltOnSame })}
      />
      <Tick
        label="Send quarantined letters too"
        hint="They are poison: send them unchanged only when you know that what they broke is mended."
        checked={form.allowQuarantined}
        onChange={allowQuarantined => set({ allowQuarantined })}
      />
    </>
  )
}
