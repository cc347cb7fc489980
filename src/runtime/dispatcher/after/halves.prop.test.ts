import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../../adapters/memory/letters/dead-letters.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { PermanentError, TransientError } from '../../../core/failure/signals.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import type { Sink } from '../../../ports/sink.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Recorder } from '../../../testing/recorder.ts'
import { createDispatcher } from '../dispatcher.ts'
import type { LaneOptions } from '../lane/lane-options.ts'

const typeOf = ({ type }: LazaretEvent) => type

function setUp(write: (types: readonly string[]) => unknown, lane: LaneOptions = {}) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const deadLetters = memoryDeadLetters()
  const writes: (readonly string[])[] = []
  const delivered: string[] = []
  const sink: Sink = {
    async write(batch) {
      const types = batch.map(typeOf)
      writes.push(types)
      await write(types)
      delivered.push(...types)
    },
  }
  const events = createDispatcher({
    sinks: { sink },
    deadLetters,
    clock,
    observer: recorder.observer,
    retry: { attempts: 3, backoff: fixed({ delayMs: 100, jitter: 'none' }) },
    breaker: { failures: 1 },
    leaveOpen: true,
    ...lane,
  })
  const track = async (types: readonly string[], expiresAt?: number) => {
    const options = { wait: 'accepted', onFailure: 'swallow' } as const
    await Promise.all(types.map(type => events.track({ type, expiresAt }, options)))
  }
  const letters = async () => (await deadLetters.list({ limit: 1_000 })).letters
  return { clock, recorder, events, writes, delivered, track, letters }
}

const refuse = (guilty: ReadonlySet<string>) => (types: readonly string[]) => {
  if (types.some(type => guilty.has(type))) throw new PermanentError('a wrong event is among them')
}

describe('a batch that a sink refuses as a whole', () => {
  it('R17: any set of guilty events is found, and all others are delivered once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 40 }),
        async (isGuilty, maxCount) => {
          const types = isGuilty.map((_, n) => `e${n}`)
          const guilty = new Set(types.filter((_, n) => isGuilty[n]))
          const innocent = types.filter(type => !guilty.has(type))
          const it = setUp(refuse(guilty), { batch: { maxCount }, budget: { ratio: 0, floorPerSecond: 0 } })
          await it.track(types)
          await it.clock.advance(0)
          expect(it.delivered).toEqual(innocent)
          const letters = await it.letters()
          expect(letters.map(({ event }) => event.type).sort()).toEqual([...guilty].sort())
          for (const { cycle } of letters)
            expect(cycle).toMatchObject({ reason: 'permanent', attemptCount: 1 })
          // The bounds: 2n − 1 writes for a batch of n, and twice the depth for each guilty event.
          const batches = Math.ceil(types.length / maxCount)
          const depth = Math.ceil(Math.log2(Math.min(maxCount, types.length)))
          expect(it.writes.length).toBeLessThanOrEqual(2 * types.length - batches)
          expect(it.writes.length).toBeLessThanOrEqual(batches + 2 * depth * guilty.size)
          // Only the write of an event alone counts as its failed attempt, and the breaker counts none of them.
          expect(it.recorder.count('attemptFailed')).toBe(guilty.size)
          expect(it.recorder.count('gaveUp')).toBe(guilty.size)
          expect(it.recorder.count('callSucceeded')).toBe(innocent.length)
          expect(it.recorder.count('breakerChanged')).toBe(0)
          await it.events.close()
        },
      ),
      { numRuns: 60 },
    )
  })

  it('R17: a failure of the receiver itself is not searched for an event', async () => {
    const it = setUp(() => {
      throw Object.assign(new Error('no such key'), { status: 401 })
    })
    await it.track(['a', 'b', 'c', 'd'])
    await it.clock.advance(0)
    expect(it.writes).toEqual([['a', 'b', 'c', 'd']])
    expect(await it.letters()).toHaveLength(4)
    await it.events.close()
  })

  it('R17: a half that fails for a while is retried, and the search goes on', async () => {
    let isDown = true
    const it = setUp(
      types => {
        if (isDown && types.length === 2 && types.includes('c')) {
          isDown = false
          throw new TransientError('not now')
        }
        refuse(new Set(['d']))(types)
      },
      { breaker: 'off', retryLimit: 'off' },
    )
    await it.track(['a', 'b', 'c', 'd'])
    await it.clock.advance(1_000)
    expect(it.writes).toEqual([['a', 'b', 'c', 'd'], ['a', 'b'], ['c', 'd'], ['c', 'd'], ['c'], ['d']])
    expect(it.delivered).toEqual(['a', 'b', 'c'])
    expect(await it.letters()).toMatchObject([{ event: { type: 'd' }, cycle: { attemptCount: 2 } }])
    await it.events.close()
  })

  it('R17: when the breaker opens during the search, the remaining events are kept', async () => {
    const it = setUp(types => {
      if (types.length === 2) throw new TransientError('down')
      throw new PermanentError('no')
    })
    await it.track(['a', 'b', 'c', 'd'])
    await it.clock.advance(1_000)
    const reasons = (await it.letters()).map(({ event, cycle }) => `${event.type} ${cycle.reason}`)
    expect(reasons.sort()).toEqual(['a', 'b', 'c', 'd'].map(type => `${type} breaker_open`))
    await it.events.close()
  })

  it('R17: closing keeps the events of the search', async () => {
    const it = setUp(types => {
      if (types.length > 2) throw new PermanentError('no')
      return new Promise(() => {})
    })
    await it.track(['a', 'b', 'c', 'd'])
    await it.clock.advance(0)
    expect(it.writes).toEqual([
      ['a', 'b', 'c', 'd'],
      ['a', 'b'],
    ])
    const closed = it.events.close({ graceMs: 0 })
    await it.clock.advance(60_000)
    await closed
    const reasons = (await it.letters()).map(({ event, cycle }) => `${event.type} ${cycle.reason}`)
    expect(reasons.sort()).toEqual(['a', 'b', 'c', 'd'].map(type => `${type} shutdown`))
  })

  it('R17: an event that expires during the search is not written', async () => {
    const it = setUp(async types => {
      if (types.length > 2) {
        await new Promise<void>(resolve => it.clock.schedule(50, resolve))
        throw new PermanentError('no')
      }
    })
    const now = it.clock.now()
    await Promise.all([it.track(['a', 'b'], now + 40), it.track(['c', 'd'])])
    await it.clock.advance(100)
    expect(it.delivered).toEqual(['c', 'd'])
    expect((await it.letters()).map(({ cycle }) => cycle.reason)).toEqual(['expired', 'expired'])
    await it.events.close()
  })
})
