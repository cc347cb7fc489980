import { useState } from 'react'
import { now } from '../lib/browser-clock.ts'
import { Note } from '../ui/notes.tsx'
import { ClockTime } from '../ui/time.tsx'

/** Stands above a screen while the server is away: what the screen shows was true when the server went. */
export function StaleNote() {
  const [since] = useState(() => new Date(now()).toISOString())
  return (
    <div className="stale" role="status">
      <Note tone="signal">
        <span>
          <strong>Out of date.</strong> The server has been unreachable since <ClockTime at={since} />. This
          page shows what was known then, and updates by itself when the server is back.
        </span>
      </Note>
    </div>
  )
}
