import { Link } from 'wouter'
import { useReplay } from '../../api/queries.ts'
import type { Replay } from '../../api/types.ts'
import { counted, whole } from '../../lib/numbers.ts'
import { replayPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { ErrorNote, Loading, Note } from '../../ui/notes.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import { ReplayTag } from '../../ui/tags.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { Steps } from '../plan/steps.tsx'
import { CliCommand } from './cli-command.tsx'
import { FindingsPanel } from './findings-panel.tsx'
import { ReplayActions } from './replay-actions.tsx'
import { ReplayFacts } from './replay-facts.tsx'
import { ReplayItems } from './replay-items.tsx'
import { NobodyConsumes, NotDelivered, RecoveredSince } from './replay-notes.tsx'
import { ReplayProgress } from './replay-progress.tsx'
import '../plan/plan.css'
import './replay.css'

export function ReplayScreen({ id }: { id: string }) {
  const { data, error, refetch } = useReplay(id)
  const above = <Link href="/replays">Replays</Link>
  if (data === undefined)
    return (
      <Page name="Replay" above={above}>
        {error ? <ErrorNote error={error} onRetry={refetch} /> : <Loading rows={8} />}
      </Page>
    )
  const reason = plainText(data.reason)
  const isPlan = data.state === 'planned' || data.state === 'approved'
  return (
    <Page
      name={reason}
      title={reason}
      above={above}
      lead={<Lead replay={data} />}
      actions={<ReplayActions replay={data} />}
    >
      <StateReason replay={data} />
      <NotDelivered replay={data} />
      <RecoveredSince replay={data} />
      <NobodyConsumes replay={data} />
      {isPlan ? <Plan replay={data} /> : <Course replay={data} />}
    </Page>
  )
}

function Lead({ replay }: { replay: Replay }) {
  return (
    <>
      <ReplayTag state={replay.state} />
      <span>{counted(replay.count, 'letter')}, frozen</span>
      <span className="quiet external-text">
        <RelativeTime at={replay.createdAt} prefix="planned " /> by {plainText(replay.createdBy)}
        {replay.approvedBy && `, approved by ${plainText(replay.approvedBy)}`}
      </span>
    </>
  )
}

/** The reason of the last change of state: the first thing to read when a replay has halted. */
function StateReason({ replay }: { replay: Replay }) {
  if (replay.stateReason === undefined) return null
  const by = replay.by === undefined ? '' : ` (${plainText(replay.by)})`
  return (
    <Note tone={replay.state === 'halted' ? 'signal' : 'sea'}>
      <strong>{replay.state === 'halted' ? 'Halted automatically.' : `Replay ${replay.state}.`}</strong>
      <span className="external-text">
        {plainText(replay.stateReason)}
        {by}
      </span>
    </Note>
  )
}

/** Other plans with the same letters: a letter that fails there would be sent a second time. */
function Overlaps({ replay }: { replay: Replay }) {
  return replay.overlaps?.map(({ replayId, count }) => (
    <Note key={replayId} tone="signal">
      <span>
        <Link href={replayPath(replayId)}>Another replay</Link> had {whole(count)} of these letters to send
        when this one was planned. A letter that fails there is then sent again by this one.
      </span>
    </Note>
  ))
}

function Plan({ replay }: { replay: Replay }) {
  return (
    <div className="plan">
      <Steps current="confirm" count={replay.count} />
      <div className="stack">
        <Overlaps replay={replay} />
        <FindingsPanel replay={replay} />
        <Panel title="Replay details">
          <div className="stack">
            <ReplayFacts replay={replay} />
            <CliCommand command={replay.command} />
          </div>
        </Panel>
      </div>
    </div>
  )
}

function Course({ replay }: { replay: Replay }) {
  return (
    <>
      <ReplayProgress replay={replay} />
      <div className="columns">
        <ReplayItems replay={replay} />
        <div className="stack">
          <Panel title="Replay details">
            <ReplayFacts replay={replay} />
          </Panel>
          <FindingsPanel replay={replay} />
          <Panel title="Command line equivalent">
            <CliCommand command={replay.command} isTitled={false} />
          </Panel>
        </div>
      </div>
    </>
  )
}
