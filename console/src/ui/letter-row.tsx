import type { ReactNode, Ref } from 'react'
import { Link } from 'wouter'
import type { LetterSummary } from '../api/types.ts'
import { planUrl } from '../lib/letter-filters.ts'
import type { LetterSort } from '../lib/letter-order.ts'
import { counted } from '../lib/numbers.ts'
import { letterPath } from '../lib/paths.ts'
import { plainText } from '../lib/plain-text.ts'
import { useIsFederated } from '../lib/use-can.ts'
import { LetterTag } from './tags.tsx'
import { RelativeTime } from './time.tsx'

export interface Selection {
  readonly ids: ReadonlySet<string>
  onToggle(id: string): void
  onTogglePage(): void
}

interface Column {
  readonly id: string
  readonly name: string
  /** What a click on the heading sorts by. */
  readonly sort: LetterSort
  readonly cell: (letter: LetterSummary) => ReactNode
}

export type LetterColumns = readonly Column[]

/** What a card shows without its name. */
const SPEAKS_FOR_ITSELF: ReadonlySet<string> = new Set(['main', 'state'])

const state: Column = {
  id: 'state',
  name: 'State',
  sort: 'state',
  cell: letter => <LetterTag state={letter.state} />,
}
const failed: Column = {
  id: 'failed',
  name: 'Last failed',
  sort: 'lastFailed',
  cell: letter => <Two first={<RelativeTime at={letter.lastFailedAt} />} second={letter.release ?? ''} />,
}

export const MANY_CAUSES: LetterColumns = [
  {
    id: 'main',
    name: 'Failure',
    sort: 'group',
    cell: letter => <Main letter={letter} title={titleOf(letter)} below={triedText(letter)} />,
  },
  state,
  { id: 'channel', name: 'Channel', sort: 'channel', cell: letter => <Where letter={letter} /> },
  {
    id: 'event',
    name: 'Event',
    sort: 'type',
    cell: letter => <Two first={plainText(letter.type)} second={plainText(nameOf(letter))} />,
  },
  failed,
]

export const ONE_CAUSE: LetterColumns = [
  {
    id: 'main',
    name: 'Event',
    sort: 'type',
    cell: letter => (
      <Main letter={letter} title={nameOf(letter)} below={`${letter.type} in ${letter.channel}`} />
    ),
  },
  state,
  {
    id: 'tried',
    name: 'Tried',
    sort: 'attempts',
    cell: letter => (
      <Two
        first={counted(letter.attempts, 'attempt')}
        second={letter.replays > 0 ? `replayed ${letter.replays}×` : letter.reason.replaceAll('_', ' ')}
      />
    ),
  },
  failed,
]

export function LetterRow({
  letter,
  place,
  selection,
  columns,
  canReplay,
  ref,
}: {
  letter: LetterSummary
  place: number
  ref: Ref<HTMLTableRowElement>
  selection: Selection | undefined
  columns: LetterColumns
  canReplay: boolean
}) {
  return (
    <tr
      className="linked"
      ref={ref}
      data-index={place}
      data-replay={canReplay ? planUrl({ ids: [letter.id] }) : undefined}
      aria-rowindex={place + 2}
    >
      {selection && (
        <td className="pick">
          <input
            type="checkbox"
            aria-label={`Select letter ${letter.id}`}
            checked={selection.ids.has(letter.id)}
            onChange={() => selection.onToggle(letter.id)}
          />
        </td>
      )}
      {columns.map(({ id, name, cell }) => (
        <td
          key={id}
          className={id === 'main' ? 'title' : undefined}
          data-name={SPEAKS_FOR_ITSELF.has(id) ? undefined : name}
        >
          {cell(letter)}
        </td>
      ))}
    </tr>
  )
}

function Main({ letter, title, below }: { letter: LetterSummary; title: string; below: string }) {
  return (
    <>
      <Link href={letterPath(letter.id)} className="row-link clip external-text">
        {plainText(title)}
      </Link>
      <div className="small quiet clip external-text">{plainText(below)}</div>
    </>
  )
}

function Where({ letter }: { letter: LetterSummary }) {
  const isFederated = useIsFederated()
  return (
    <Two
      first={plainText(letter.channel)}
      second={plainText(isFederated ? `${letter.store} · ${letter.handler}` : letter.handler)}
    />
  )
}

function Two({ first, second }: { first: ReactNode; second: ReactNode }) {
  return (
    <>
      <span className="clip external-text">{first}</span>
      <div className="small quiet clip external-text">{second}</div>
    </>
  )
}

function titleOf({ failure, reason }: LetterSummary): string {
  return failure === undefined ? reason.replaceAll('_', ' ') : `${failure.name}: ${failure.message}`
}

function triedText({ reason, attempts, replays }: LetterSummary): string {
  const tried = `${reason.replaceAll('_', ' ')} · ${counted(attempts, 'attempt')}`
  return replays > 0 ? `${tried} · replayed ${replays}×` : tried
}

/** A key says more than an id, unless a mask hides it. */
function nameOf({ key, eventId }: LetterSummary): string {
  return key === undefined || key.includes('***') ? eventId : key
}
