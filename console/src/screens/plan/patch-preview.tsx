import { Link } from 'wouter'
import { usePreview } from '../../api/queries.ts'
import type { Preview, PreviewBody } from '../../api/types.ts'
import { linesToCompare } from '../../lib/json-lines.ts'
import { letterPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { type PlanForm, type PlanSelection, readPatch } from '../../lib/plan-form.ts'
import { DiffView } from '../../ui/diff-view.tsx'
import { ErrorNote, Loading, Note } from '../../ui/notes.tsx'
import { useDebounced } from './use-debounced.ts'

const SETTLE_MS = 400

/** A few of the letters as they are and as they would be sent, both masked. */
export function PatchPreview({
  form,
  selection,
  hasFault,
}: {
  form: PlanForm
  selection: PlanSelection
  hasFault: boolean
}) {
  const text = useDebounced(form.patch, SETTLE_MS)
  const { patch } = readPatch(text)
  const body: PreviewBody = {
    ...('ids' in selection ? { ids: [...selection.ids] } : { filter: selection.filter }),
    ...(form.store === '' ? {} : { store: form.store }),
    ...(form.to === '' ? {} : { to: form.to }),
    ...(patch === undefined ? {} : { patch: [...patch] }),
  }
  const isReady = !hasFault && patch !== undefined
  const { data, error, isFetching } = usePreview(body, isReady)
  if (!isReady) return null
  return (
    <div className="stack" aria-busy={isFetching}>
      <h3>Preview</h3>
      {error && <ErrorNote error={error} />}
      {data === undefined && !error && <Loading rows={3} />}
      {data?.samples.length === 0 && <p className="quiet small">No letter to preview.</p>}
      {data?.notChecked && (
        <p className="quiet small external-text">
          No schema has checked these payloads: {plainText(data.notChecked)}
        </p>
      )}
      {data?.samples.map(sample => (
        <Sample key={sample.letterId} sample={sample} />
      ))}
    </div>
  )
}

function Sample({ sample }: { sample: Preview['samples'][number] }) {
  return (
    <div className="stack tight">
      <Link href={letterPath(sample.letterId)} className="mono small external-text">
        {plainText(sample.letterId)}
      </Link>
      {sample.fault && (
        <Note tone="bad">
          <span className="external-text">{plainText(sample.fault)}</span>
        </Note>
      )}
      {sample.after !== undefined && (
        <DiffView
          before={linesToCompare(sample.before)}
          after={linesToCompare(sample.after)}
          label="Payload before and after"
          unchanged="Payload unchanged."
        />
      )}
    </div>
  )
}
