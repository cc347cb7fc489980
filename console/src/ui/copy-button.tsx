import { useState } from 'react'
import { after } from '../lib/browser-clock.ts'
import { Icon } from './icons.tsx'

const SAID_MS = 1_600

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [isDone, setDone] = useState(false)
  return (
    <button
      type="button"
      className="button quiet copy"
      aria-label={isDone ? `${what} copied` : `Copy ${what}`}
      title={isDone ? 'Copied' : `Copy ${what}`}
      onClick={() => {
        void navigator.clipboard?.writeText(text).then(() => {
          setDone(true)
          after(SAID_MS, () => setDone(false))
        })
      }}
    >
      <Icon name={isDone ? 'check' : 'copy'} />
    </button>
  )
}
