import { Link } from 'wouter'
import type { LetterStats } from '../../api/types.ts'
import {
  FILTER_NAMES,
  type FilterName,
  type FilterTexts,
  filterWord,
  lettersUrl,
} from '../../lib/letter-filters.ts'
import { plainText } from '../../lib/plain-text.ts'
import { useParams } from '../../lib/use-search-params.ts'
import { Select } from '../../ui/fields.tsx'
import { SearchField } from '../../ui/search-field.tsx'
import { ChannelChoice } from '../groups/channel-choice.tsx'
import { MoreFilters } from './more-filters.tsx'
import './letters.css'

const STATES = ['dead', 'quarantined', 'replaying', 'parked', 'resolved', 'discarded'] as const
const CATEGORIES = ['transient', 'schema', 'business', 'integration', 'unknown'] as const
const SINCE = [
  ['', 'Any time'],
  ['15m', 'Last 15 min'],
  ['1h', 'Last hour'],
  ['24h', 'Last day'],
  ['7d', 'Last week'],
] as const

/** Those that have a field of their own; the others are shown as chips, so that no filter is ever unseen. */
const IN_FIELDS: ReadonlySet<FilterName> = new Set([
  'search',
  'channel',
  'state',
  'reason',
  'category',
  'after',
])

export function FilterBar({ texts, stats }: { texts: FilterTexts; stats: LetterStats | undefined }) {
  const [, set] = useParams()
  const reasons = new Set([...Object.keys(stats?.byReason ?? {}), ...(texts.reason ? [texts.reason] : [])])
  return (
    <div className="stack tight">
      <div className="filters">
        <SearchField
          label="Search error, event id, key or type"
          value={texts.search ?? ''}
          onSearch={search => set({ search })}
        />
        <ChannelChoice value={texts.channel ?? ''} onChange={channel => set({ channel })} />
        <Select
          label="State"
          hideLabel
          value={texts.state ?? ''}
          of={options('All states', STATES)}
          onChange={state => set({ state })}
        />
        <Select
          label="Reason"
          hideLabel
          value={texts.reason ?? ''}
          of={options('All reasons', [...reasons])}
          onChange={reason => set({ reason })}
        />
        <Select
          label="Category"
          hideLabel
          value={texts.category ?? ''}
          of={options('All categories', CATEGORIES)}
          onChange={category => set({ category })}
        />
        <Select
          label="Failed within"
          hideLabel
          value={texts.after ?? ''}
          of={sinceOptions(texts.after)}
          onChange={after => set({ after })}
        />
      </div>
      <MoreFilters key={lettersUrl(texts)} texts={texts} onApply={set} />
      <Chips texts={texts} />
    </div>
  )
}

function Chips({ texts }: { texts: FilterTexts }) {
  const chips = FILTER_NAMES.filter(name => texts[name] !== undefined && !IN_FIELDS.has(name))
  if (chips.length === 0) return null
  return (
    <ul className="row">
      {chips.map(name => (
        <li key={name} className="chip external-text">
          {filterWord(name)} <strong>{plainText(texts[name] ?? '')}</strong>
          <Link href={lettersUrl({ ...texts, [name]: undefined })} aria-label={`Remove filter ${name}`}>
            ✕
          </Link>
        </li>
      ))}
    </ul>
  )
}

function options(all: string, names: readonly string[]): readonly (readonly [string, string])[] {
  return [['', all], ...names.map(name => [name, plainText(name.replaceAll('_', ' '))] as const)]
}

function sinceOptions(chosen: string | undefined): readonly (readonly [string, string])[] {
  const isKnown = chosen === undefined || SINCE.some(([each]) => each === chosen)
  return isKnown ? SINCE : [...SINCE, [chosen, `Since ${plainText(chosen)}`]]
}
