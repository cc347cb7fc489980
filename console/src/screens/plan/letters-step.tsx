import { Link } from 'wouter'
import { useLetterPage } from '../../api/queries.ts'
import type { LetterFilter, Me } from '../../api/types.ts'
import { lettersUrl } from '../../lib/letter-filters.ts'
import { counted } from '../../lib/numbers.ts'
import { letterPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import type { PlanFaults, PlanForm, PlanSelection } from '../../lib/plan-form.ts'
import { Select } from '../../ui/fields.tsx'
import { LetterTable } from '../../ui/letter-table.tsx'
import { Note } from '../../ui/notes.tsx'

export interface StepProps {
  readonly form: PlanForm
  readonly faults: PlanFaults
  readonly selection: PlanSelection
  readonly count: number | undefined
  readonly set: (change: Partial<PlanForm>) => void
}

const SAMPLE = 5

export function LettersStep({ form, selection, count, set, stores }: StepProps & { stores: Me['stores'] }) {
  return (
    <>
      <p className="plan-count">
        <strong>{count === undefined ? '…' : counted(count, 'letter')}</strong>
        <span className="quiet">
          {'ids' in selection
            ? 'selected individually'
            : 'match now; the selection is fixed when you freeze it'}
        </span>
      </p>
      {count === 0 && (
        <Note tone="signal">
          No letter matches. <Link href="/letters">Select letters</Link> first.
        </Note>
      )}
      {'filter' in selection && <FilterWords filter={selection.filter} />}
      {'filter' in selection && stores.length > 1 && (
        <Select
          label="Store"
          value={form.store}
          of={[['', 'Choose a store'] as const, ...stores.map(({ name }) => [name, name] as const)]}
          onChange={store => set({ store })}
        />
      )}
      {'filter' in selection ? <Sample filter={selection.filter} /> : <Ids ids={selection.ids} />}
      <p className="quiet small">
        Letters that arrive later are excluded. The gates decide which of the selected letters can be sent.
      </p>
    </>
  )
}

function FilterWords({ filter }: { filter: LetterFilter }) {
  const words = Object.entries(filter)
  return (
    <div className="row">
      {words.length === 0 && <Note tone="signal">No filter is set: this selects all letters.</Note>}
      {words.map(([name, value]) => (
        <span key={name} className="chip external-text">
          {name} <strong>{plainText(String(value))}</strong>&nbsp;
        </span>
      ))}
      <Link href={lettersUrl(filter)} className="small">
        Change selection
      </Link>
    </div>
  )
}

function Sample({ filter }: { filter: LetterFilter }) {
  const { data } = useLetterPage({ ...filter, limit: SAMPLE })
  if (data === undefined || data.letters.length === 0) return null
  return (
    <div className="framed">
      <LetterTable letters={data.letters} isOneCause={filter.group !== undefined} />
    </div>
  )
}

function Ids({ ids }: { ids: readonly string[] }) {
  return (
    <ul className="id-list">
      {ids.slice(0, 12).map(id => (
        <li key={id}>
          <Link href={letterPath(id)} className="mono small external-text">
            {plainText(id)}
          </Link>
        </li>
      ))}
      {ids.length > 12 && <li className="quiet small">and {ids.length - 12} more</li>}
    </ul>
  )
}
