import { file, stdout } from '../../src/adapters/sinks/index.ts'
import type { Sink } from '../../src/ports/sink.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'

// Writes batches without end: to a file, told on standard output once they are written, or to standard output itself
// until it breaks, told on standard error.
const [kind, path = '', seed = '1'] = process.argv.slice(2)
const make = createFactory({ random: seededRandom(Number(seed)) })
const sink: Sink = kind === 'stdout' ? stdout() : file({ path, rotate: { bytes: 200_000, keep: 1_000 } })
const { signal } = new AbortController()

try {
  for (;;) {
    const batch = make.events(20, { payload: 'x'.repeat(500) })
    await sink.write(batch, { signal })
    if (kind !== 'stdout') process.stdout.write(`${batch.map(event => `wrote ${event.id}`).join('\n')}\n`)
  }
} catch (error) {
  process.stderr.write(`${String(error)}\n`)
  await sink.close?.()
}
