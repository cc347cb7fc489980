import { type FormEvent, useId, useState } from 'react'
import { isByTime, type LetterSort, type ListOrder, orderParams, SORT_WORDS } from '../../lib/letter-order.ts'
import { localInput, momentOfInput } from '../../lib/local-time.ts'
import { useParams } from '../../lib/use-search-params.ts'
import { Button } from '../../ui/buttons.tsx'
import { Select } from '../../ui/fields.tsx'

const NO_ORDER = { sort: undefined, order: undefined, startAt: undefined, cursor: undefined }

/** Sorts by any column, those without a heading too, and starts a list by time at a time instead of paging to it. */
export function OrderBar({ order }: { order: ListOrder }) {
  const [, setParams] = useParams()
  const set = (next: Omit<ListOrder, 'startAt'>) => setParams({ ...NO_ORDER, ...orderParams(next) })
  const words = Object.entries(SORT_WORDS) as [LetterSort, string][]
  return (
    <div className="filters">
      <Select
        label="Sort by"
        hideLabel
        value={order.sort}
        of={words.map(([sort, word]) => [sort, `Sort by ${word.toLowerCase()}`] as const)}
        onChange={sort => set({ sort, isDescending: isByTime(sort) || sort === 'attempts' })}
      />
      <Select
        label="Direction"
        hideLabel
        value={order.isDescending ? 'desc' : 'asc'}
        of={directionWords(order.sort)}
        onChange={direction => set({ sort: order.sort, isDescending: direction === 'desc' })}
      />
      {isByTime(order.sort) && (
        <StartAt
          key={order.startAt ?? ''}
          startAt={order.startAt}
          onJump={startAt => setParams({ startAt, cursor: undefined })}
        />
      )}
    </div>
  )
}

function StartAt({
  startAt,
  onJump,
}: {
  startAt: string | undefined
  onJump: (startAt: string | undefined) => void
}) {
  const id = useId()
  const [typed, setTyped] = useState(localInput(startAt))
  const jump = (event: FormEvent) => {
    event.preventDefault()
    onJump(typed === '' ? undefined : momentOfInput(typed))
  }
  return (
    <form className="row" onSubmit={jump}>
      <div className="field">
        <label htmlFor={id} className="unseen">
          Start the list at
        </label>
        <input
          id={id}
          className="input"
          type="datetime-local"
          value={typed}
          onChange={event => setTyped(event.target.value)}
        />
      </div>
      <Button type="submit">Jump to time</Button>
    </form>
  )
}

function directionWords(sort: LetterSort): readonly (readonly ['asc' | 'desc', string])[] {
  if (isByTime(sort))
    return [
      ['desc', 'Newest first'],
      ['asc', 'Oldest first'],
    ]
  if (sort === 'attempts')
    return [
      ['desc', 'Most first'],
      ['asc', 'Fewest first'],
    ]
  return [
    ['asc', 'A to Z'],
    ['desc', 'Z to A'],
  ]
}
