import { Link } from 'wouter'
import { useFindings } from '../../api/queries.ts'
import type { Findings, Replay, ReplayDecision } from '../../api/types.ts'
import { counted, whole } from '../../lib/numbers.ts'
import { letterPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Icon, type IconName } from '../../ui/icons.tsx'
import { ErrorNote, Loading, Note } from '../../ui/notes.tsx'
import { Panel } from '../../ui/page.tsx'

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
    says: 'the payload to be sent does not match the schema',
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

function Gate({
  gate,
  says,
  glyph,
  finding,
}: {
  gate: string
  says: string
  glyph: IconName
  finding: Findings['findings'][number] | undefined
}) {
  const count = finding?.count ?? 0
  return (
    <li className={count > 0 ? 'stops' : 'passes'}>
      <Icon name={count > 0 ? glyph : 'check'} />
      <div>
        <strong>{gate}:</strong>{' '}
        {count === 0 ? (
          <span className="quiet">0 blocked</span>
        ) : (
          <span>
            {whole(count)} blocked: {says}
          </span>
        )}
        {finding?.reasons.map(({ reason, count: times }) => (
          <div key={reason} className="small quiet external-text">
            {whole(times)} × {plainText(reason)}
          </div>
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
