// Saved views of letters: filters with a name, for one person or for all. They live in the audit log, which every store keeps and
// seals: each change of a view is an entry with the whole view, and the newest entry of a view is what it is now.
import { withDisclosing } from '../adapter-kit/query/letter-query.ts'
import type { JsonValue } from '../core/event/event.ts'
import type { AuditLog } from '../ports/audit.ts'
import { entriesOf } from './audit-entries.ts'

/** A filter as the address of the console has it: times may be spans, such as `1h`. */
type ViewFilter = Readonly<Record<string, string>>

/** A filter with a name. */
export interface SavedView {
  readonly name: string
  readonly isShared: boolean
  /** Where the list of letters begins: of one person, or of everyone without a default of their own. */
  readonly isDefault: boolean
  /** The person who saved it last. */
  readonly by: string
  readonly filter: ViewFilter
}

const SAVE = 'view.save'
const DELETE = 'view.delete'

/**
 * The views that a person has: their own and the shared ones, by name. A view that was last changed before the newest
 * entries of the audit log is forgotten.
 */
export async function listViews(audit: AuditLog, person: string): Promise<readonly SavedView[]> {
  const newest = new Map<string, { readonly at: number; readonly view: SavedView | undefined }>()
  for (const action of [SAVE, DELETE])
    for await (const { at, by, detail } of entriesOf(audit, action)) {
      const view = readView(by, detail)
      if (view === undefined) continue
      const key = JSON.stringify([view.name, view.isShared ? undefined : by])
      const known = newest.get(key)
      // A view that was saved and deleted in the same millisecond is gone.
      if (known !== undefined && (known.at > at || (known.at === at && action === SAVE))) continue
      newest.set(key, { at, view: action === SAVE ? view : undefined })
    }
  const views = [...newest.values()].flatMap(({ view }) => view ?? [])
  return views
    .filter(({ isShared, by }) => isShared || by === person)
    .sort((a, b) => Number(a.isShared) - Number(b.isShared) || a.name.localeCompare(b.name))
}

/** Saves a view, in place of one with the same name. A new default takes the place of the old one. */
export async function saveView(audit: AuditLog, view: SavedView, at: number): Promise<void> {
  if (view.isDefault)
    for (const other of await listViews(audit, view.by))
      if (other.isDefault && other.isShared === view.isShared && other.name !== view.name)
        await append(audit, SAVE, { ...other, isDefault: false, by: view.by }, at)
  await append(audit, SAVE, view, at)
}

/** Deletes a view. Returns false if there is none with this name. */
export async function deleteView(
  audit: AuditLog,
  { name, isShared, by }: Pick<SavedView, 'name' | 'isShared' | 'by'>,
  at: number,
): Promise<boolean> {
  const found = (await listViews(audit, by)).find(view => view.name === name && view.isShared === isShared)
  if (found !== undefined) await append(audit, DELETE, { ...found, by }, at)
  return found !== undefined
}

/** Whether a view has a text that may be a masked value. */
export function isDisclosingView({ filter }: SavedView): boolean {
  return withDisclosing(filter, () => '') !== filter
}

function append(audit: AuditLog, action: string, view: SavedView, at: number): Promise<void> {
  const { name, isShared, isDefault, by, filter } = view
  const target = isShared ? `view ${name}, shared` : `view ${name} of ${by}`
  // The texts of the filter stand in the detail by their own names, where the audit log seals and masks them.
  return audit.append({ at, by, action, target, detail: { ...filter, view: name, isShared, isDefault } })
}

function readView(by: string, detail: Readonly<Record<string, JsonValue>> = {}): SavedView | undefined {
  const { view: name, isShared, isDefault, ...filter } = detail
  if (typeof name !== 'string') return undefined
  const texts = Object.entries(filter).filter((pair): pair is [string, string] => typeof pair[1] === 'string')
  return {
    name,
    isShared: isShared === true,
    isDefault: isDefault === true,
    by,
    filter: Object.fromEntries(texts),
  }
}
