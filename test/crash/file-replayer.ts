// A process that wants to replay every letter of a folder, and says on its standard output which ones it got.
import { fileDeadLetters } from '../../src/adapters/file/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { writeLine } from '../support/write-line.ts'

const [dir = ''] = process.argv.slice(2)
const store = fileDeadLetters({ dir })
const { letters } = await store.list({ limit: 1_000 })
for (const { id } of letters) {
  const change = { to: 'replaying', from: 'dead', at: systemClock.now() } as const
  if ((await store.change(id, change)) !== undefined) writeLine(id)
}
await store.close()
