import { createDispatcher, type Sink } from 'lazaret'
import { fileDeadLetters } from 'lazaret/file'
import { sqliteJournal } from 'lazaret/sqlite'

const webhook: Sink = {
  async write(batch, { signal }) {
    const body = JSON.stringify(batch)
    const response = await fetch('http://collector:8080/events', { method: 'POST', body, signal })
    if (!response.ok) throw Object.assign(new Error('refused'), { status: response.status })
  },
}

export const events = createDispatcher({
  sinks: { webhook },
  deadLetters: fileDeadLetters({ dir: 'var/dead-letters' }),
  critical: { types: ['payment.*'], severities: ['fatal'] },
  journal: sqliteJournal({ path: 'var/journal.db' }),
})
