import { whole } from '../../lib/numbers.ts'
import type { PlanFaults, PlanForm } from '../../lib/plan-form.ts'
import { Icon } from '../../ui/icons.tsx'

export const STEPS = [
  { id: 'letters', title: 'Letters' },
  { id: 'destination', title: 'Target and edits' },
  { id: 'pace', title: 'Pace and halt rules' },
  { id: 'check', title: 'Reason and check' },
  { id: 'confirm', title: 'Gate results and start' },
] as const

export type StepId = (typeof STEPS)[number]['id']

interface StepsProps {
  readonly current: StepId
  readonly form?: PlanForm
  readonly faults?: PlanFaults
  readonly count?: number | undefined
  readonly onGo?: (step: StepId) => void
}

/** Where one is, and what was chosen on the way, in sight all the time. */
export function Steps({ current, form, faults = {}, count, onGo }: StepsProps) {
  const place = STEPS.findIndex(({ id }) => id === current)
  return (
    <ol className="steps" aria-label="Steps">
      {STEPS.map(({ id, title }, index) => {
        const isDone = index < place
        const inner = (
          <>
            <span className="step-mark">{isDone ? <Icon name="check" size={12} /> : index + 1}</span>
            <span>
              {title}
              <span className="small quiet">{form && summary(id, form, count)}</span>
              {isDone && hasFault(id, faults) && <span className="small fault">needs correction</span>}
            </span>
          </>
        )
        return (
          <li key={id} aria-current={id === current ? 'step' : undefined} className={isDone ? 'done' : ''}>
            {onGo && id !== 'confirm' ? (
              <button type="button" onClick={() => onGo(id)}>
                {inner}
              </button>
            ) : (
              <div>{inner}</div>
            )}
          </li>
        )
      })}
    </ol>
  )
}

const FIELDS: Readonly<Record<StepId, readonly (keyof PlanForm)[]>> = {
  letters: ['store'],
  destination: ['to', 'patch'],
  pace: ['stages', 'perSecond', 'haltPercent', 'maxAge'],
  check: ['reason'],
  confirm: [],
}

function hasFault(step: StepId, faults: PlanFaults): boolean {
  return FIELDS[step].some(field => faults[field] !== undefined)
}

function summary(step: StepId, form: PlanForm, count: number | undefined): string {
  switch (step) {
    case 'letters':
      return count === undefined ? 'counting…' : `${whole(count)} selected`
    case 'destination':
      return `${form.to.trim() || 'original channel'}${form.change === 'patch' ? ', edited' : ''}`
    case 'pace':
      return `${form.stages} at ${form.perSecond}/s`
    default:
      return ''
  }
}
