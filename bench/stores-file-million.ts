// `fill DIR` writes a million letters, `measure DIR` opens them and prints the cost as JSON.
import { fileDeadLetters } from '../src/adapters/file/index.ts'
import { letterId } from '../src/core/dead-letter/identity.ts'
import { createIdSource } from '../src/core/event/uuid.ts'
import { systemClock, systemRandom } from '../src/ports/clock.ts'
import { makeLetters } from './harness/letters.ts'
import { milliseconds } from './harness/load.ts'
import { COUNT } from './harness/million.ts'

const IN_FLIGHT = 200
const CHANNELS = 20

/**
 * One letter for each millisecond, on a few channels. A few hundred letters are reused, because creating a million
 * takes longer.
 */
async function fill(dir: string): Promise<void> {
  const store = fileDeadLetters({ dir })
  const samples = makeLetters(500)
  const newId = createIdSource(systemRandom)
  const start = systemClock.now() - COUNT
  let next = 0
  const writer = async () => {
    while (next < COUNT) {
      const at = start + next
      const sample = samples[next % samples.length]!
      const channel = `channel-${next++ % CHANNELS}`
      const event = { ...sample.event, channel, id: newId(at) }
      const cycle = { ...sample.cycle, firstFailedAt: at, lastFailedAt: at }
      await store.send({ ...sample, id: letterId(channel, sample.handler, event), channel, event, cycle })
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, writer))
  await store.close()
}

async function measure(dir: string): Promise<void> {
  const store = fileDeadLetters({ dir })
  const openMs = await milliseconds(() => store.usage())
  const firstPageMs = await milliseconds(() => store.list())
  const filteredPageMs = await milliseconds(() => store.list({ channel: 'channel-7' }))
  const { count } = await store.stats()
  if (count !== COUNT) throw new Error(`${count} letters are there, not ${COUNT}`)
  await store.close()
  // The peak memory in kilobytes.
  const memoryMb = process.resourceUsage().maxRSS / 1_000
  process.stdout.write(JSON.stringify({ openMs, firstPageMs, filteredPageMs, memoryMb }))
}

const [what, dir = ''] = process.argv.slice(2)
await (what === 'fill' ? fill(dir) : measure(dir))
