import { type ReactNode, useEffect, useRef, useState } from 'react'
import { type BulkVerb, runBulk, useChange } from '../../api/actions.ts'
import { useBulkPreview } from '../../api/queries.ts'
import type { AssignBody, BulkBody, ExportBody, StillBlocked } from '../../api/types.ts'
import { now } from '../../lib/browser-clock.ts'
import { type FilterTexts, filterForServer, filterInWords } from '../../lib/letter-filters.ts'
import { counted } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { saveAs } from '../../lib/save-as.ts'
import { Button } from '../../ui/buttons.tsx'
import { AskReason, Dialog } from '../../ui/dialog.tsx'
import { Field, Select } from '../../ui/fields.tsx'
import { ErrorNote } from '../../ui/notes.tsx'

interface Words {
  readonly title: (letters: string) => string
  /** Of a letter that was worked on. */
  readonly done: string
  readonly running: string
  readonly noun: string
  readonly about: string
}

const WORDS: Readonly<Record<BulkVerb, Words>> = {
  purge: {
    title: letters => `Delete ${letters} permanently`,
    done: 'deleted',
    running: 'Deleting letters',
    noun: 'Purge',
    about: 'Their events cannot be replayed afterwards.',
  },
  discard: {
    title: letters => `Discard ${letters}`,
    done: 'discarded',
    running: 'Discarding letters',
    noun: 'Discard',
    about:
      'Only dead, quarantined and parked letters are discarded. They stay visible. Events that wait for them continue.',
  },
  release: {
    title: letters => `Release ${letters} from quarantine`,
    done: 'released',
    running: 'Releasing letters',
    noun: 'Release',
    about: 'Only quarantined letters are released. A replay can send them afterwards.',
  },
  assign: {
    title: letters => `Assign the groups of ${letters}`,
    done: 'assigned',
    running: 'Assigning groups',
    noun: 'Assignment',
    about: 'The person becomes the owner of every group that has one of the letters.',
  },
  export: {
    title: letters => `Export ${letters}`,
    done: 'exported',
    running: 'Exporting letters',
    noun: 'Export',
    about: 'The file has the letters as they are shown here: masked.',
  },
}

interface BulkProps {
  readonly verb: BulkVerb
  readonly texts: FilterTexts
  readonly onClose: () => void
  /** Receives the letters whose keys are still blocked after a discard. */
  readonly onBlocked: (blocked: StillBlocked) => void
}

/** Shows how many letters are meant, and works on these or none: the server compares them with the preview shown here. */
export function BulkDialog({ verb, texts, onClose, onBlocked }: BulkProps) {
  const words = WORDS[verb]
  // "2 hours ago" is resolved once, so that the preview and the action mean the same letters.
  const [filter] = useState(() => filterForServer(texts, now()))
  const [owner, setOwner] = useState('')
  const [format, setFormat] = useState<ExportBody['format']>('csv')
  const preview = useBulkPreview(verb, { filter })
  const stop = useRef(new AbortController())
  const parts = useRef<string[]>([])
  const [done, setDone] = useState<number>()
  const onProgress = (count: number, text: string) => {
    if (text !== '') parts.current.push(text)
    setDone(count)
  }
  const change = useChange(async (body: BulkBody) => {
    const ended = await runBulk(verb, body, onProgress, stop.current.signal)
    if (ended?.stillBlocked !== undefined) onBlocked(ended.stillBlocked)
    if (verb === 'export' && ended?.exported !== undefined)
      saveAs(`letters.${format}`, format === 'csv' ? 'text/csv' : 'application/x-ndjson', parts.current)
    return ended
  })
  // The server cancels the action when the connection closes, so leaving the dialog ends it as well.
  useEffect(() => () => stop.current.abort(), [])
  if (preview.data === undefined)
    return (
      <Dialog title={words.title('letters')} onClose={onClose}>
        {preview.isError ? (
          <ErrorNote error={preview.error} onRetry={preview.refetch} />
        ) : (
          <p className="quiet">Counting the letters…</p>
        )}
      </Dialog>
    )
  const { count, byState, until, digest } = preview.data
  if (done !== undefined)
    return (
      <BulkProgress
        words={words}
        done={done}
        count={count}
        isOver={!change.isPending && change.data === undefined}
        error={change.error}
        onStop={() => stop.current.abort()}
        onClose={onClose}
      />
    )
  if (count === 0)
    return (
      <Dialog title={words.title('letters')} onClose={onClose}>
        <p role="status">No matching letter can be {words.done}.</p>
      </Dialog>
    )
  return (
    <AskReason
      title={words.title(counted(count, 'letter'))}
      verb={verb === 'purge' ? `Delete ${counted(count, 'letter')}` : words.title(counted(count, 'letter'))}
      keep="Keep letters"
      danger={verb === 'purge' || verb === 'discard'}
      onClose={() => {
        // After a cancel the dialog stays and says how far the action came.
        if (!stop.current.signal.aborted) onClose()
      }}
      onAnswer={reason => {
        stop.current = new AbortController()
        parts.current = []
        const body: BulkBody = { filter, expectedCount: count, byState, until, digest, reason }
        if (verb === 'assign') return change.mutateAsync({ ...body, owner } as AssignBody)
        return change.mutateAsync(verb === 'export' ? ({ ...body, format } as ExportBody) : body)
      }}
    >
      <p>
        This means every matching letter, on all pages: <strong>{plainText(filterInWords(texts))}</strong>.{' '}
        {words.about}
      </p>
      <p>
        If the matching letters change before you confirm, nothing is {words.done}. Letters that fail from now
        on stay as they are.
      </p>
      <Extra>
        {verb === 'assign' && <Field label="Owner" value={owner} onChange={setOwner} maxLength={200} />}
        {verb === 'export' && (
          <Select
            label="Format"
            value={format}
            of={[
              ['csv', 'CSV, for a spreadsheet'],
              ['jsonl', 'JSON lines, for a program'],
            ]}
            onChange={chosen => setFormat(chosen as ExportBody['format'])}
          />
        )}
      </Extra>
    </AskReason>
  )
}

function Extra({ children }: { children: ReactNode }) {
  return <div className="stack tight">{children}</div>
}

interface ProgressProps {
  readonly words: Words
  readonly done: number
  readonly count: number
  readonly isOver: boolean
  readonly error: unknown
  readonly onStop: () => void
  readonly onClose: () => void
}

/** The progress of an action, and after a cancel how far it came. The last batch may end after the cancel. */
function BulkProgress({ words, done, count, isOver, error, onStop, onClose }: ProgressProps) {
  const letters = counted(count, 'letter')
  return (
    <Dialog
      title={error ? `${words.noun} failed` : isOver ? `${words.noun} cancelled` : words.running}
      onClose={onClose}
    >
      <div className="stack">
        <progress value={done} max={count} aria-label={`Letters ${words.done}`} />
        <p role="status">
          {isOver
            ? `At least ${done} of ${letters} were ${words.done}. The others stay. The audit log has the exact number.`
            : `${done} of ${letters} ${words.done}`}
        </p>
        {error !== null && <ErrorNote error={error} />}
        <div className="row end">
          {isOver ? (
            <Button onPress={onClose}>Close</Button>
          ) : (
            <Button onPress={onStop}>Cancel {words.noun.toLowerCase()}</Button>
          )}
        </div>
      </div>
    </Dialog>
  )
}
