import { Link } from 'wouter'
import type { Replay } from '../../api/types.ts'
import { lettersUrl } from '../../lib/letter-filters.ts'
import { counted, percent, whole } from '../../lib/numbers.ts'
import { stageSizes } from '../../lib/plan-form.ts'
import { OutcomeBar, OutcomeLegend } from '../../ui/charts.tsx'
import { Panel } from '../../ui/page.tsx'

/** Outcomes, not dispatches: what became of the letters, and what that says. */
export function Running({ replay }: { replay: Replay }) {
  return (
    <Panel>
      <div className="stack">
        <div className="readings">
          <Reading
            value={replay.recoveredShare === undefined ? '–' : percent(replay.recoveredShare)}
            name="recovered, of those with an outcome"
          />
          <Reading
            value={replay.rate === undefined ? '–' : `${replay.rate.toFixed(1)}/s`}
            name={replay.rate === undefined ? 'not sending now' : 'sent, over the last minute'}
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
    <Reading
      value={`${stage + 1} of ${sizes.length}`}
      name={`stage; they hold ${sizes.map(whole).join(', ')}`}
    />
  )
}

function Arrived({ replay }: { replay: Replay }) {
  const { arrivedMeanwhile, selectedBy, createdAt } = replay
  if (arrivedMeanwhile === undefined) return <Reading value="–" name="arrived meanwhile: chosen by ids" />
  return (
    <Reading
      value={whole(arrivedMeanwhile)}
      isLoud={arrivedMeanwhile > 0}
      name={
        arrivedMeanwhile === 0 ? (
          'no letter arrived meanwhile'
        ) : (
          <Link href={lettersUrl({ ...selectedBy.filter, after: createdAt })}>
            {counted(arrivedMeanwhile, 'letter').replace(/^\S+ /, '')} arrived meanwhile, not in it
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
