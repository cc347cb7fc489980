import type { Cycle, LetterDetail } from '../../api/types.ts'
import { cycleDifferences } from '../../lib/cycle-differences.ts'
import { counted } from '../../lib/numbers.ts'
import { plainText, textLines } from '../../lib/plain-text.ts'
import { DiffView } from '../../ui/diff-view.tsx'
import { DifferenceTable } from '../../ui/differences.tsx'
import { Panel } from '../../ui/page.tsx'
import { Timestamp } from '../../ui/time.tsx'
import { ReplayLink } from './replay-link.tsx'
import { Timeline } from './timeline.tsx'

/** Every life of the event, the latest first, each told by what changed since the one before. */
export function Cycles({ letter }: { letter: LetterDetail }) {
  const { cycles, droppedCycles } = letter
  return (
    <div className="stack">
      {droppedCycles > 0 && (
        <p className="quiet small">Not kept: {counted(droppedCycles, 'cycle')} after the first.</p>
      )}
      {cycles
        .map((cycle, index) => <OneCycle key={cycle.number} cycle={cycle} before={cycles[index - 1]} />)
        .toReversed()}
    </div>
  )
}

function OneCycle({ cycle, before }: { cycle: Cycle; before: Cycle | undefined }) {
  return (
    <Panel
      title={cycle.number === 0 ? 'First delivery' : `Replay ${cycle.number}`}
      aside={
        <span className="small quiet external-text">
          {cycle.replayId && (
            <>
              <ReplayLink id={cycle.replayId}>View replay</ReplayLink>
              {cycle.replayedBy && ` by ${plainText(cycle.replayedBy)}`} ·{' '}
            </>
          )}
          <Timestamp at={cycle.lastFailedAt} />
        </span>
      }
    >
      {before === undefined ? (
        <p className="external-text">{headline(cycle)}</p>
      ) : (
        <Differences before={before} after={cycle} />
      )}
      <details className="stack-text">
        <summary>{counted(cycle.attemptCount, 'attempt')}</summary>
        <Timeline cycle={cycle} />
      </details>
    </Panel>
  )
}

function Differences({ before, after }: { before: Cycle; after: Cycle }) {
  const fields = cycleDifferences(before, after)
  const [stackBefore, stackAfter] = [textLines(before.failure?.stack), textLines(after.failure?.stack)]
  return (
    <div className="stack">
      <p>
        {before.failure?.fingerprint === after.failure?.fingerprint
          ? 'Failed again with the same cause.'
          : 'Failed again with a different cause.'}
      </p>
      <DifferenceTable fields={fields} before="Before" after="After" same="unchanged" />
      {stackBefore.length > 0 && stackAfter.length > 0 && (
        <DiffView
          before={stackBefore}
          after={stackAfter}
          label="Stack before and after"
          unchanged="Stack unchanged."
        />
      )}
    </div>
  )
}

function headline({ failure, reasonText }: Cycle): string {
  return plainText(failure === undefined ? reasonText : `${failure.name}: ${failure.message}`)
}
