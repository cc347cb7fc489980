import { type FormEvent, useState } from 'react'
import { Link } from 'wouter'
import { deleteView, saveView, useChange } from '../../api/actions.ts'
import { useViews } from '../../api/queries.ts'
import type { SavedView, ViewBody } from '../../api/types.ts'
import { type FilterTexts, filterInWords, lettersUrl } from '../../lib/letter-filters.ts'
import { plainText } from '../../lib/plain-text.ts'
import { useCan } from '../../lib/use-can.ts'
import { Button } from '../../ui/buttons.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Field } from '../../ui/fields.tsx'
import { ErrorNote } from '../../ui/notes.tsx'

/** The saved views as links, and the way to save the present filter as one. */
export function SavedViews({ texts }: { texts: FilterTexts }) {
  const { data } = useViews()
  const can = useCan('view.save')
  const [isSaving, setSaving] = useState(false)
  const views = data?.views ?? []
  const here = lettersUrl(texts)
  const isFiltered = Object.keys(texts).length > 0
  if (views.length === 0 && !isFiltered) return null
  return (
    <nav className="row views" aria-label="Saved views">
      {views.map(view => (
        <View key={`${view.shared} ${view.name}`} view={view} isHere={lettersUrl(view.filter) === here} />
      ))}
      {isFiltered && (
        <Button look="quiet" may={can} onPress={() => setSaving(true)}>
          Save view…
        </Button>
      )}
      {isSaving && <SaveDialog texts={texts} onClose={() => setSaving(false)} />}
    </nav>
  )
}

function View({ view, isHere }: { view: SavedView; isHere: boolean }) {
  const can = useCan('view.save')
  const change = useChange(deleteView)
  const name = plainText(view.name)
  return (
    <span className="chip external-text">
      <Link href={lettersUrl(view.filter)} aria-current={isHere ? 'page' : undefined}>
        {name}
      </Link>
      {view.shared && <span className="small quiet">shared</span>}
      {view.default && <span className="small quiet">default</span>}
      {isHere && can.allowed && (
        <Button
          look="quiet"
          label={`Delete view ${name}`}
          busy={change.isPending}
          onPress={() => change.mutate({ name: view.name, shared: view.shared })}
        >
          ✕
        </Button>
      )}
    </span>
  )
}

function SaveDialog({ texts, onClose }: { texts: FilterTexts; onClose: () => void }) {
  const [name, setName] = useState('')
  const [isShared, setShared] = useState(false)
  const [isDefault, setDefault] = useState(false)
  const change = useChange((body: ViewBody) => saveView(body))
  const save = async (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() === '' || change.isPending) return
    const filter = texts as ViewBody['filter']
    await change.mutateAsync({ name: name.trim(), shared: isShared, default: isDefault, filter })
    onClose()
  }
  return (
    <Dialog title="Save view" onClose={onClose}>
      <form className="stack" onSubmit={event => void save(event).catch(() => {})}>
        <p className="quiet-prose">
          Saves the filter: <strong>{plainText(filterInWords(texts))}</strong>. A view with the same name is
          replaced.
        </p>
        <Field label="Name" value={name} onChange={setName} maxLength={100} autoFocus />
        <Checkbox label="Share with everyone" checked={isShared} onChange={setShared} />
        <Checkbox label="Open Letters with this view" checked={isDefault} onChange={setDefault} />
        {change.error && <ErrorNote error={change.error} />}
        <div className="row end">
          <Button onPress={onClose}>Do not save</Button>
          <Button
            type="submit"
            look="main"
            busy={change.isPending}
            may={name.trim() === '' ? { allowed: false, reason: 'Enter a name.' } : undefined}
          >
            Save view
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
