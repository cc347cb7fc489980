import { useState } from 'react'
import { Link } from 'wouter'
import { useLetter } from '../../api/queries.ts'
import type { LetterDetail, RevealedLetter } from '../../api/types.ts'
import { counted } from '../../lib/numbers.ts'
import { groupPath, letterPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { useParams } from '../../lib/use-search-params.ts'
import { AuditTable } from '../../ui/audit-table.tsx'
import { ErrorNote, Loading } from '../../ui/notes.tsx'
import { Page, Panel, Tabs } from '../../ui/page.tsx'
import { LetterTag } from '../../ui/tags.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { Cycles } from './cycles.tsx'
import { DestinationPanel } from './destination-panel.tsx'
import { EventFacts } from './event-facts.tsx'
import { LetterActions } from './letter-actions.tsx'
import { Body } from './payload.tsx'
import { Timeline } from './timeline.tsx'
import './letter.css'

export function LetterScreen({ id }: { id: string }) {
  const { data, error, refetch } = useLetter(id)
  const [revealed, setRevealed] = useState<RevealedLetter>()
  if (data === undefined)
    return (
      <Page name="Letter" above={<Link href="/letters">Letters</Link>}>
        {error ? <ErrorNote error={error} onRetry={refetch} /> : <Loading rows={9} />}
      </Page>
    )
  const { failure, reasonText } = data
  const title = plainText(failure === undefined ? reasonText : `${failure.name}: ${failure.message}`)
  return (
    <Page
      name={title}
      title={<span className="three-lines">{title}</span>}
      above={
        <>
          <Link href="/letters">Letters</Link> › <Link href={groupPath(data.group)}>View group</Link>
        </>
      }
      lead={<Lead letter={data} />}
      actions={<LetterActions letter={data} />}
    >
      <div className="columns">
        <div className="stack">
          <History letter={data} />
          <Body letter={data} revealed={revealed} onReveal={setRevealed} />
        </div>
        <div className="stack">
          <DestinationPanel letter={data} />
          <EventFacts letter={data} />
        </div>
      </div>
    </Page>
  )
}

function Lead({ letter }: { letter: LetterDetail }) {
  return (
    <>
      <LetterTag state={letter.state} />
      <span>{letter.reasonText}</span>
      <span className="quiet">
        {counted(letter.attempts, 'attempt')}, <RelativeTime at={letter.lastFailedAt} prefix="last failed " />
        {letter.replays > 0 && `, replayed ${counted(letter.replays, 'time')}`}
      </span>
    </>
  )
}

function History({ letter }: { letter: LetterDetail }) {
  const [params] = useParams()
  const tab = params.get('tab') ?? 'attempts'
  const base = letterPath(letter.id)
  const current = letter.cycles.at(-1)
  return (
    <>
      <Tabs
        label="History of this letter"
        current={tab}
        of={[
          { id: 'attempts', name: 'Attempts', href: base, count: current?.attemptCount },
          { id: 'cycles', name: 'Cycles', href: `${base}?tab=cycles`, count: letter.cycles.length },
          { id: 'audit', name: 'Audit', href: `${base}?tab=audit`, count: letter.audit.length },
        ]}
      />
      {tab === 'cycles' ? (
        <Cycles letter={letter} />
      ) : tab === 'audit' ? (
        <Panel bare>
          <AuditTable entries={letter.audit} withTarget={false} />
        </Panel>
      ) : (
        current && <Timeline cycle={current} />
      )}
    </>
  )
}
