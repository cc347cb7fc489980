import { useEffect, useRef, useState } from 'react'
import { after } from '../lib/browser-clock.ts'
import { Icon } from './icons.tsx'
import './search-field.css'

const SETTLE_MS = 250

/** Searches while one types, once one pauses. */
export function SearchField({
  label,
  value,
  onSearch,
}: {
  label: string
  value: string
  onSearch: (text: string) => void
}) {
  const [text, setText] = useState(value)
  const stop = useRef(() => {})
  const searched = useRef(value)
  // Going back in the browser changes the search without the field. A search by the field leaves what is typed as it is.
  useEffect(() => {
    if (value === searched.current) return
    searched.current = value
    stop.current()
    setText(value)
  }, [value])
  return (
    <div className="search">
      <Icon name="search" />
      <input
        type="search"
        className="input"
        aria-label={label}
        placeholder={label}
        value={text}
        data-search
        onChange={event => {
          const typed = event.target.value
          setText(typed)
          stop.current()
          stop.current = after(SETTLE_MS, () => {
            searched.current = typed.trim()
            onSearch(searched.current)
          })
        }}
      />
      <kbd title="Press / to search">/</kbd>
    </div>
  )
}
