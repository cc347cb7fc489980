import { Link } from 'wouter'
import { useFindings } from '../../api/queries.ts'
import type { Findings, GateCheck, Replay, ReplayDecision } from '../../api/types.ts'
import { checkedLetters, gateResult, whoAnswered } from '../../lib/gate-words.ts'
import { counted, whole } from '../../lib/numbers.ts'
import { letterPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Icon, type IconName } from '../../ui/icons.tsx'
import { ErrorNote, Loading, Note } from '../../ui/notes.tsx'
import { Panel } from '../../ui/page.tsx'
import { RelativeTime } from '../../ui/time.tsx'

const GATES: readonly { decision: ReplayDecision; gate: string; says: string; glyph: IconName }[] = [
  {
    decision: 'skip_state',
    gate: 'State',
    says: 'already replaying, parked, resolved or discarded',
    glyph: 'pause',
  },
  {
    decision: 'skip_unreachable',
    gate: 'Replay target',
    says: 'cannot be sent from this server',
    glyph: 'back',
  },
  {
    decision: 'skip_unapproved',
    gate: 'Quarantine',
    says: 'poison: edit them, or allow them once the cause is fixed',
    glyph: 'lock',
  },
  {
    decision: 'skip_schema',
    gate: 'Schema',
    says: 'the payload to be sent does not match the schema, or was not checked',
    glyph: 'cross',
  },
  { decision: 'skip_expired', gate: 'Age', says: 'over the age limit', glyph: 'dash' },
  { decision: 'skip_downstream', gate: 'Downstream', says: 'their consumer is unhealthy', glyph: 'bell' },
]

/** What each gate said, the ones that stopped nothing included: that they were asked is part of the answer. */
export function FindingsPanel({ replay }: { replay: Replay }) {
  const { data, error, refetch } = useFindings(replay.id)
  const goes = replay.findings.replay ?? 0
  return (
    <Panel title="Gate results">
      <div className="stack">
        {error && <ErrorNote error={error} onRetry={refetch} />}
        {data === undefined && !error && <Loading rows={4} />}
        {data && (
          <ol className="gates">
            {GATES.map(gate => (
              <Gate
                key={gate.decision}
                {...gate}
                checks={checksOf(replay, gate.decision)}
                finding={data.findings.find(({ decision }) => decision === gate.decision)}
              />
            ))}
          </ol>
        )}
        {goes === 0 ? (
          <Note tone="signal">No letter can be sent.</Note>
        ) : (
          <p className="gate-sum">
            <Icon name="arrow" /> <strong>{counted(goes, 'letter')}</strong> of {whole(replay.count)} will be
            sent
          </p>
        )}
      </div>
    </Panel>
  )
}

/** The gates that ask processes; the others look at the letter alone. */
const ASKED: ReadonlySet<ReplayDecision> = new Set(['skip_schema', 'skip_downstream'])

function checksOf({ checks }: Replay, decision: ReplayDecision): readonly GateCheck[] | 'own' | undefined {
  if (!ASKED.has(decision)) return 'own'
  return checks?.filter(check => `skip_${check.gate}` === decision)
}

function Gate({
  gate,
  says,
  glyph,
  finding,
  checks,
}: {
  gate: string
  says: string
  glyph: IconName
  finding: Findings['findings'][number] | undefined
  checks: readonly GateCheck[] | 'own' | undefined
}) {
  const count = finding?.count ?? 0
  const { text, isChecked } = gateResult(count, says, checks)
  return (
    <li className={count > 0 ? 'stops' : isChecked ? 'passes' : 'unknown'}>
      <Icon name={count > 0 ? glyph : isChecked ? 'check' : 'dots'} />
      <div>
        <strong>{gate}:</strong>{' '}
        <span className={count === 0 && isChecked ? 'quiet' : undefined}>{text}</span>
        {finding?.reasons.map(({ reason, count: times }) => (
          <div key={reason} className="small quiet external-text">
            {whole(times)} × {plainText(reason)}
          </div>
        ))}
        {(checks === 'own' ? [] : (checks ?? [])).map(check => (
          <Check key={JSON.stringify(check)} check={check} />
        ))}
        {count > 0 && finding && finding.sampleLetterIds.length > 0 && (
          <div className="small">
            {finding.sampleLetterIds.slice(0, 3).map((id, index) => (
              <span key={id}>
                {index > 0 && ' · '}
                <Link href={letterPath(id)}>View example {index + 1}</Link>
              </span>
            ))}
          </div>
        )}
      </div>
    </li>
  )
}

/** Whose word the gate has for some of the letters, and how old it is. */
function Check({ check }: { check: GateCheck }) {
  const { answer } = check
  return (
    <div className="small quiet external-text">
      {plainText(checkedLetters(check))}:{' '}
      {answer.answeredBy === 'nobody' ? (
        <>not checked: {plainText(answer.reason)}</>
      ) : (
        <>
          checked by {plainText(whoAnswered(answer))}, <RelativeTime at={answer.saidAt} />
        </>
      )}
    </div>
  )
}
