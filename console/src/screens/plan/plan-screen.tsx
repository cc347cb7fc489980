import { useEffect, useMemo, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { plan as planReplay, useChange } from '../../api/actions.ts'
import { useMe } from '../../api/queries.ts'
import type { PlanProgress as PlanProgressLine } from '../../api/types.ts'
import { now } from '../../lib/browser-clock.ts'
import { filterForServer, readFilter } from '../../lib/letter-filters.ts'
import { type PlanForm, type PlanSelection, readPlan } from '../../lib/plan-form.ts'
import { both, useCan } from '../../lib/use-can.ts'
import { useParams } from '../../lib/use-search-params.ts'
import { Button } from '../../ui/buttons.tsx'
import { ErrorNote } from '../../ui/notes.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import { CheckStep } from './check-step.tsx'
import { DestinationStep } from './destination-step.tsx'
import { LettersStep } from './letters-step.tsx'
import { PaceStep } from './pace-step.tsx'
import { PlanProgress } from './plan-progress.tsx'
import { STEPS, type StepId, Steps } from './steps.tsx'
import { usePlanDraft } from './use-plan-draft.ts'
import { useSelectionCount } from './use-selection-count.ts'
import './plan.css'

/** A replay is prepared here. Nothing is sent: the result is a plan, frozen and checked, with its own page. */
export function PlanScreen() {
  const [params, setParams] = useParams()
  const step = stepOf(params.get('step'))
  const setStep = (next: StepId) => setParams({ step: next })
  params.delete('step')
  const chosen = params.toString()
  const selection = useSelection(chosen)
  const [form, setForm, forgetForm] = usePlanDraft(chosen)
  const fields = useFocusOnStep(step)
  const [, navigate] = useLocation()
  const { data: me } = useMe()
  const canPlan = useCan('replay.plan')
  const count = useSelectionCount(selection, form.store)
  const { body, faults } = readPlan(form, selection)
  const [progress, setProgress] = useState<PlanProgressLine>()
  const stop = useRef(new AbortController())
  const freeze = useChange(() => {
    stop.current = new AbortController()
    setProgress({ checked: 0 })
    return planReplay(body, setProgress, stop.current.signal).finally(() => setProgress(undefined))
  })
  // The server cancels the plan when the connection closes, so leaving the screen ends it as well.
  useEffect(() => () => stop.current.abort(), [])
  const set = (change: Partial<PlanForm>) => setForm({ ...form, ...change })
  const place = STEPS.findIndex(({ id }) => id === step)
  const shared = { form, faults, set, selection, count }
  const isLast = place === STEPS.length - 2
  return (
    <Page
      name="New replay"
      above={<Link href="/replays">Replays</Link>}
      lead="Nothing is sent yet. The letters are frozen and checked first, and you see the result of each check."
    >
      <div className="plan">
        <Steps current={step} form={form} faults={faults} count={count} onGo={setStep} />
        <Panel title={STEPS[place]?.title}>
          <div className="stack" ref={fields}>
            {step === 'letters' && <LettersStep {...shared} stores={me?.stores ?? []} />}
            {step === 'destination' && <DestinationStep {...shared} />}
            {step === 'pace' && <PaceStep {...shared} />}
            {step === 'check' && (
              <CheckStep {...shared} body={body} needsApproval={me?.needsApproval ?? false} />
            )}
            {freeze.error && <ErrorNote error={freeze.error} />}
            {progress && <PlanProgress {...progress} onCancel={() => stop.current.abort()} />}
            {freeze.isSuccess && freeze.data === undefined && (
              <p role="status">Cancelled. Nothing was planned.</p>
            )}
            <div className="row end">
              {place > 0 && <Button onPress={() => setStep(STEPS[place - 1]!.id)}>Back</Button>}
              {isLast ? (
                <Button
                  look="main"
                  busy={freeze.isPending}
                  may={both(canPlan, mayFreeze(faults))}
                  onPress={() =>
                    freeze.mutate(undefined, {
                      onSuccess(replay) {
                        if (replay === undefined) return
                        forgetForm()
                        navigate(`/replays/${replay.id}`)
                      },
                    })
                  }
                >
                  Freeze and check
                </Button>
              ) : (
                <Button look="main" onPress={() => setStep(STEPS[place + 1]!.id)}>
                  Next: {STEPS[place + 1]?.title.toLowerCase()}
                </Button>
              )}
            </div>
          </div>
        </Panel>
      </div>
    </Page>
  )
}

function mayFreeze(faults: object) {
  const [first] = Object.values(faults) as string[]
  return first === undefined ? { allowed: true } : { allowed: false, reason: first }
}

function stepOf(text: string | null): StepId {
  return STEPS.find(({ id }) => id === text && id !== 'confirm')?.id ?? 'letters'
}

/** A step that a person goes to has the focus in its first field; one without fields, in its last button, which leads on. */
function useFocusOnStep(step: StepId) {
  const fields = useRef<HTMLDivElement>(null)
  const shown = useRef(step)
  useEffect(() => {
    if (shown.current === step) return
    shown.current = step
    const field = fields.current?.querySelector<HTMLElement>('input, select, textarea')
    const buttons = fields.current?.querySelectorAll<HTMLElement>('.row.end button')
    const target = field ?? [...(buttons ?? [])].at(-1)
    target?.focus()
  }, [step])
  return fields
}

/** The letters that the URL names, by ids or by a filter. */
function useSelection(search: string): PlanSelection {
  return useMemo(() => {
    const ids = new URLSearchParams(search).get('ids')
    if (ids !== null && ids !== '') return { ids: ids.split(',') }
    return { filter: filterForServer(readFilter(search), now()) }
  }, [search])
}
