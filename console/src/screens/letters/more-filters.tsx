import { type FormEvent, useState } from 'react'
import type { FilterTexts } from '../../lib/letter-filters.ts'
import { localInput, momentOfInput } from '../../lib/local-time.ts'
import { Button } from '../../ui/buttons.tsx'
import { Field } from '../../ui/fields.tsx'

interface MoreProps {
  readonly texts: FilterTexts
  readonly onApply: (change: FilterTexts) => void
}

const TEXTS = [
  ['handler', 'Handler or sink'],
  ['type', 'Event type'],
  ['release', 'Release'],
  ['error', 'Error text'],
] as const
const NUMBERS = [
  ['minAttempts', 'Attempts at least'],
  ['maxAttempts', 'Attempts at most'],
] as const
const TIMES = [
  ['after', 'Failed from'],
  ['before', 'Failed before'],
] as const

/** The filters that are needed less often. All of them are applied together. */
export function MoreFilters({ texts, onApply }: MoreProps) {
  const [typed, setTyped] = useState<FilterTexts>(texts)
  const set = (change: FilterTexts) => setTyped(before => ({ ...before, ...change }))
  const apply = (event: FormEvent) => {
    event.preventDefault()
    const names = ['where', ...[...TEXTS, ...NUMBERS, ...TIMES].map(([name]) => name)] as const
    onApply(Object.fromEntries(names.map(name => [name, typed[name]?.trim() ?? ''])))
  }
  return (
    <details className="more-filters">
      <summary>More filters</summary>
      <form onSubmit={apply}>
        <div className="wide">
          <Field
            label="Fields of payload, header or metadata"
            hint="For example: payload.customer.id = 7 and header.tenant = acme. Operators are =, != and ~ (contains)."
            value={typed.where ?? ''}
            onChange={where => set({ where })}
            maxLength={1_000}
          />
        </div>
        {TEXTS.map(([name, label]) => (
          <Field
            key={name}
            label={label}
            value={typed[name] ?? ''}
            onChange={value => set({ [name]: value })}
            maxLength={500}
          />
        ))}
        {NUMBERS.map(([name, label]) => (
          <Field
            key={name}
            label={label}
            type="number"
            value={typed[name] ?? ''}
            onChange={value => set({ [name]: value })}
          />
        ))}
        {TIMES.map(([name, label]) => (
          <Field
            key={name}
            label={label}
            type="datetime-local"
            value={localInput(typed[name])}
            onChange={value => set({ [name]: momentOfInput(value) })}
          />
        ))}
        <Button type="submit">Apply filters</Button>
      </form>
    </details>
  )
}
