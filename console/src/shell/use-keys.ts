import { useLayoutEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { after } from '../lib/browser-clock.ts'
import { type Command, meaningOf } from '../lib/keys.ts'
import { moveAlongRows, pressCompare, replayFromHere, selectRow } from './row-keys.ts'

const SECOND_KEY_MS = 1_500
const FIELDS = 'input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]'

/** The keys of the whole console. Returns whether their list is shown, and how to shut it. */
export function useKeys(): readonly [boolean, (isShown: boolean) => void] {
  const [, navigate] = useLocation()
  const [isHelp, setHelp] = useState(false)
  // Before the first paint: a person may press a key as soon as there are rows.
  useLayoutEffect(() => {
    const commands: Readonly<Record<Command, () => void>> = {
      search: () => focusSearch(navigate),
      'next row': () => moveAlongRows(1),
      'previous row': () => moveAlongRows(-1),
      'select row': selectRow,
      replay: () => replayFromHere(navigate),
      compare: pressCompare,
      help: () => setHelp(true),
    }
    let isWaiting = false
    let stopWaiting = () => {}
    function onKey(event: KeyboardEvent) {
      if (document.querySelector('dialog[open]')) return
      const target = event.target instanceof Element ? event.target : undefined
      const action = meaningOf(
        {
          key: event.key,
          isChord: event.ctrlKey || event.metaKey || event.altKey,
          isTyping: target?.matches(FIELDS) ?? false,
        },
        isWaiting,
      )
      stopWaiting()
      isWaiting = action === 'wait'
      if (action === undefined) return
      event.preventDefault()
      if (action === 'wait') stopWaiting = after(SECOND_KEY_MS, () => (isWaiting = false))
      else if (typeof action === 'object') navigate(action.go)
      else commands[action]()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [navigate])
  return [isHelp, setHelp]
}

/** A screen without a search of its own leads to the one of all letters. */
function focusSearch(navigate: (to: string) => void): void {
  const field = document.querySelector<HTMLInputElement>('[data-search]')
  if (field === null) {
    navigate('/letters')
    after(50, () => document.querySelector<HTMLInputElement>('[data-search]')?.focus())
  } else {
    field.focus()
    field.select()
  }
}
