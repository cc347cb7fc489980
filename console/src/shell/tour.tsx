import { Link } from 'wouter'
import { runDemoAction, useChange } from '../api/actions.ts'
import { useDemo } from '../api/queries.ts'
import type { DemoStep } from '../api/types.ts'
import { tour, usePreference } from '../lib/preferences.ts'
import { useCan } from '../lib/use-can.ts'
import { Button } from '../ui/buttons.tsx'
import { Icon } from '../ui/icons.tsx'
import { ErrorNote } from '../ui/notes.tsx'
import './tour.css'

/** The story that the demo tells, beside the screens where it happens. */
export function Tour() {
  const { data } = useDemo(true)
  const isOpen = usePreference(tour) === 'open'
  if (data === undefined) return null
  const done = data.steps.filter(step => step.done).length
  const next = data.steps.find(step => !step.done)
  return (
    <aside className={isOpen ? 'tour' : 'tour shut'} aria-label="Demo tour">
      <button
        type="button"
        className="tour-head"
        aria-expanded={isOpen}
        onClick={() => tour.set(isOpen ? 'shut' : 'open')}
      >
        <strong>{isOpen ? data.title : 'Tour'}</strong>
        <span>
          {done} of {data.steps.length}
        </span>
        <span aria-hidden="true">{isOpen ? '▾' : '▴'}</span>
      </button>
      {isOpen && (
        <ol>
          {data.steps.map(step => (
            <Step key={step.id} step={step} isNext={step === next} />
          ))}
        </ol>
      )}
    </aside>
  )
}

function Step({ step, isNext }: { step: DemoStep; isNext: boolean }) {
  const can = useCan('demo.act')
  const act = useChange((action: string) => runDemoAction(action))
  const { action } = step
  return (
    <li className={step.done ? 'done' : isNext ? 'next' : ''} aria-current={isNext ? 'step' : undefined}>
      <span className="mark">{step.done && <Icon name="check" size={12} />}</span>
      <div>
        <h3>
          {step.href ? <Link href={step.href}>{step.title}</Link> : step.title}
          {step.done && <span className="unseen"> (done)</span>}
        </h3>
        {isNext && <p>{step.text}</p>}
        {action && (isNext || action.enabled) && (
          <Button
            look={isNext ? 'signal' : 'quiet'}
            busy={act.isPending}
            may={
              action.enabled ? can : { allowed: false, reason: 'This step runs automatically in a moment.' }
            }
            onPress={() => act.mutate(action.id)}
          >
            {action.label}
          </Button>
        )}
        {act.error && <ErrorNote error={act.error} />}
      </div>
    </li>
  )
}
