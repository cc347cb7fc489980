import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../../adapters/memory/letters/dead-letters.ts'
import { memorySink } from '../../../adapters/memory/sink.ts'
import type { Sink } from '../../../ports/sink.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { sleep } from '../../sleep.ts'
import { createDispatcher } from '../dispatcher.ts'

const EVENTS = 500

/** How long each event took to the third sink, whose writes take 7 ms, while one is tracked every 5 ms. */
async function latencies(others: { readonly first: Sink; readonly second: Sink }) {
  const clock = new FakeClock()
  const took: number[] = []
  const acceptedIn: number[] = []
  const third: Sink = {
    async write(batch) {
      await sleep(clock, 7)
      for (const event of batch) took.push(clock.now() - event.occurredAt)
    },
  }
  const deadLetters = memoryDeadLetters()
  const events = createDispatcher({
    sinks: { ...others, third },
    deadLetters,
    clock,
    random: seededRandom(1),
  })
  for (let n = 0; n < EVENTS; n++) {
    const startedAt = clock.now()
    await events.track({ type: 'x' }, { wait: 'accepted' })
    acceptedIn.push(clock.now() - startedAt)
    await clock.advance(5)
  }
  await clock.advance(60_000)
  return { took, acceptedIn }
}

describe('lanes', () => {
  it('E17: a sink that hangs and a sink that throws do not affect the third sink or the caller at all', async () => {
    const alone = await latencies({ first: memorySink(), second: memorySink() })
    const beside = await latencies({
      first: { write: () => new Promise(() => {}) },
      second: {
        write() {
          throw new Error('before there was a promise')
        },
      },
    })
    expect(alone.took).toHaveLength(EVENTS)
    expect(beside.took).toEqual(alone.took)
    const p99 = [...beside.took].sort((a, b) => a - b)[Math.ceil(EVENTS * 0.99) - 1]
    expect(p99).toBeLessThan(15)
    expect(beside.acceptedIn.every(ms => ms === 0)).toBe(true)
  })

  it('E17: a write that hangs is given up on after its time, and its signal aborts', async () => {
    const clock = new FakeClock()
    const aborted: number[] = []
    const hanging: Sink = {
      write: (_, { signal }) =>
        new Promise(() => signal.addEventListener('abort', () => aborted.push(clock.now() - start))),
    }
    const deadLetters = memoryDeadLetters()
    const events = createDispatcher({ sinks: { hanging }, deadLetters, clock, retry: { attempts: 1 } })
    const start = clock.now()
    const outcome = events.track({ type: 'x' }).catch((error: unknown) => error)
    await clock.advance(6_000)
    expect(aborted).toEqual([5_000])
    expect(await outcome).toMatchObject({
      result: { sinks: { hanging: { failure: { name: 'TimeoutError' } } } },
    })
  })
})
