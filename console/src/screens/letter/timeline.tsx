import type { Attempt, Cycle } from '../../api/types.ts'
import { counted } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { span } from '../../lib/times.ts'
import { CodeBox } from '../../ui/code-box.tsx'
import { Empty } from '../../ui/notes.tsx'
import { Panel } from '../../ui/page.tsx'
import { ClockTime } from '../../ui/time.tsx'

/** One attempt after another, with the waits between them as long as they were. */
export function Timeline({ cycle }: { cycle: Cycle }) {
  if (cycle.attempts.length === 0)
    return (
      <Panel>
        <Empty title="No attempts">{cycle.reasonText}</Empty>
      </Panel>
    )
  const missing = cycle.attemptCount - cycle.attempts.length
  return (
    <Panel>
      <ol className="timeline">
        {cycle.attempts.map((attempt, index) => (
          <li key={attempt.number}>
            <AttemptRow attempt={attempt} previous={cycle.attempts[index - 1]} />
            {index === 0 && missing > 0 && (
              <p className="wait quiet small">… {counted(missing, 'attempt')} in between, not kept</p>
            )}
            {attempt.delayMs !== undefined && (
              <p className="wait small">
                <span className="quiet">waited</span> {span(attempt.delayMs)}
              </p>
            )}
          </li>
        ))}
        <li className="end">
          <strong>Dead-lettered.</strong> <span className="quiet">{cycle.reasonText}</span>
        </li>
      </ol>
      <Stack cycle={cycle} />
    </Panel>
  )
}

function AttemptRow({ attempt, previous }: { attempt: Attempt; previous: Attempt | undefined }) {
  const { failure, startedAt, endedAt } = attempt
  const isSame = failure !== undefined && previous?.failure?.fingerprint === failure.fingerprint
  return (
    <div className="attempt">
      <div className="row">
        <strong>Attempt {attempt.number}</strong>
        <span className="quiet">
          <ClockTime at={startedAt} />
        </span>
        <span className="quiet small">
          {endedAt === undefined
            ? 'did not finish: the process stopped'
            : `took ${span(Date.parse(endedAt) - Date.parse(startedAt))}`}
        </span>
        {isSame && <span className="quiet small">same failure</span>}
      </div>
      {failure && !isSame && (
        <p className="external-text message">
          {plainText(`${failure.name}: ${failure.message}`)}
          {failure.code && <code> {plainText(failure.code)}</code>}
        </p>
      )}
      {failure?.stack && <StackText stack={failure.stack} summary="Stack of this attempt" />}
    </div>
  )
}

function Stack({ cycle: { failure } }: { cycle: Cycle }) {
  if (failure?.stack) return <StackText stack={failure.stack} summary="Stack" isOpen />
  return <p className="quiet small">No stack stored. Set keepStack on the consumer to store stacks.</p>
}

function StackText({ stack, summary, isOpen = false }: { stack: string; summary: string; isOpen?: boolean }) {
  return (
    <details className="stack-text" open={isOpen}>
      <summary>{summary}</summary>
      <CodeBox label={summary}>{plainText(stack)}</CodeBox>
    </details>
  )
}
