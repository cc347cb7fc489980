import { Link } from 'wouter'
import type { Replay } from '../../api/types.ts'
import { lettersUrl } from '../../lib/letter-filters.ts'
import { percent, whole } from '../../lib/numbers.ts'
import { stageSizes } from '../../lib/plan-form.ts'
import { OutcomeBar, OutcomeLegend } from '../../ui/charts.tsx'
import { Panel } from '../../ui/page.tsx'

/** Outcomes, not dispatches: what became of the letters, and what that says. */
export function ReplayProgress({ replay }: { replay: Replay }) {
  return (
    <Panel>
      <div className="stack">
        <div className="readings">
          <Reading
            value={replay.recoveredShare === undefined ? '–' : percent(replay.recoveredShare)}
            name="Recovery rate"
          />
          <Reading
            value={replay.rate === undefined ? '–' : `${replay.rate.toFixed(1)}/s`}
            name={replay.rate === undefined ? 'Not sending' : 'Send rate, last minute'}
          />
          <StageReading replay={replay} />
          <Arrived replay={replay} />
        </div>
        <OutcomeBar counts={replay.counts} size="large" />
        <OutcomeLegend counts={replay.counts} />
      </div>
    </Panel>
  )
}

function StageReading({ replay }: { replay: Replay }) {
  const sizes = stageSizes(replay.stages, replay.count)
  const stage = Math.min(replay.stage, Math.max(0, sizes.length - 1))
  return (
    <Reading value={`${stage + 1} of ${sizes.length}`} name={`Stage (${sizes.map(whole).join(' / ')})`} />
  )
}

function Arrived({ replay }: { replay: Replay }) {
  const { arrivedSincePlan, selectedBy, createdAt } = replay
  if (arrivedSincePlan === undefined)
    return <Reading value="–" name="New since freeze: not counted for a selection by id" />
  return (
    <Reading
      value={whole(arrivedSincePlan)}
      isLoud={arrivedSincePlan > 0}
      name={
        arrivedSincePlan === 0 ? (
          'No new letters since freeze'
        ) : (
          <Link href={lettersUrl({ ...selectedBy.filter, after: createdAt })}>
            New since freeze, excluded
          </Link>
        )
      }
    />
  )
}

function Reading({
  value,
  name,
  isLoud = false,
}: {
  value: string
  name: React.ReactNode
  isLoud?: boolean
}) {
  return (
    <div className={isLoud ? 'figure loud' : 'figure'}>
      <strong>{value}</strong>
      <span className="small quiet">{name}</span>
    </div>
  )
}
