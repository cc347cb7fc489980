import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../../adapters/memory/letters/dead-letters.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import type { Sink } from '../../../ports/sink.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Recorder } from '../../../testing/recorder.ts'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { sleep } from '../../sleep.ts'
import { createDispatcher } from '../dispatcher.ts'
import type { DispatcherOptions } from '../dispatcher-options.ts'

const DOWN_MS = 10_000
const WAITING = 1_000

interface Storm extends Partial<DispatcherOptions> {
  readonly writeMs?: () => number
}

/** A sink that is down for 10 s while 1000 events wait for it; what it is asked for afterwards, and what arrives. */
async function storm({ writeMs = () => 0, ...options }: Storm) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const deadLetters = memoryDeadLetters()
  const start = clock.now()
  const starts: { readonly at: number; readonly count: number }[] = []
  /** When writes ended: the latest time at which the receiver can have got them. */
  const ends: { readonly at: number; readonly count: number }[] = []
  const arrived = new Map<string, number>()
  const sink: Sink = {
    async write(batch) {
      const at = clock.now() - start
      if (at < DOWN_MS) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
      starts.push({ at, count: batch.length })
      const tookMs = writeMs()
      if (tookMs > 0) await sleep(clock, tookMs)
      ends.push({ at: clock.now() - start, count: batch.length })
      for (const { id } of batch) arrived.set(id, (arrived.get(id) ?? 0) + 1)
    },
  }
  const events = createDispatcher({
    sinks: { sink },
    deadLetters,
    clock,
    random: seededRandom(7),
    observer: recorder.observer,
    whenOpen: 'wait',
    retry: { attempts: 100, backoff: fixed({ delayMs: 500 }) },
    breaker: { openMs: 1_000 },
    ...options,
  })
  for (let n = 0; n < WAITING; n++) void events.track({ type: 'x' }).catch(() => {})
  await clock.advance(DOWN_MS + 60_000)
  const letters = (await deadLetters.stats()).count
  return { starts, ends, arrived, letters, recorder, events, clock }
}

/** The most events that started within any half-open window of so long. */
function busiest(
  starts: readonly { readonly at: number; readonly count: number }[],
  windowMs: number,
): number {
  return Math.max(
    ...starts.map(({ at: from }) =>
      starts
        .filter(({ at }) => at >= from && at < from + windowMs)
        .reduce((sum, { count }) => sum + count, 0),
    ),
  )
}

describe('a storm', () => {
  it('E5: 1000 events that waited come back at 100 a second until drained, and none is lost', async () => {
    const { starts, arrived, letters } = await storm({})
    expect(arrived.size).toBe(WAITING)
    expect([...arrived.values()].every(times => times === 1)).toBe(true)
    expect(letters).toBe(0)
    // Turns that were reserved before the breaker opened are not saved up for the first probe.
    expect(starts[0]?.count).toBe(1)
    expect(busiest(starts, 1_000)).toBe(100)
    expect(starts.at(-1)!.at - starts[0]!.at).toBeLessThan(11_000)
  })

  it('E5: the limit counts events, not batches, however slow the writes are', async () => {
    const { starts, arrived, letters } = await storm({ writeMs: () => 700 })
    expect([arrived.size, letters]).toEqual([WAITING, 0])
    expect(Math.max(...starts.map(({ count }) => count))).toBeGreaterThan(10)
    expect(busiest(starts, 1_000)).toBeLessThanOrEqual(100)
  })

  it('E5: nor does the receiver count more, at any time between start and end of the write', async () => {
    const random = seededRandom(11)
    const { starts, ends, arrived, letters } = await storm({ writeMs: () => Math.floor(random() * 400) })
    expect([arrived.size, letters]).toEqual([WAITING, 0])
    expect(busiest(ends, 1_000)).toBeLessThanOrEqual(100)
    expect(busiest(starts, 1_000)).toBeLessThanOrEqual(100)
  })

  it('E5: in the batch form each interval sees one batch', async () => {
    const { starts, arrived, letters } = await storm({ retryLimit: { batch: { size: 100, everyMs: 1_000 } } })
    expect([arrived.size, letters]).toEqual([WAITING, 0])
    expect(busiest(starts, 1_000)).toBe(100)
    expect(starts.filter(({ count }) => count === 100).length).toBeGreaterThanOrEqual(9)
  })

  it('E4: jitter spreads turns without going over the limit', async () => {
    const { starts, arrived } = await storm({ retryLimit: { perSecond: 50, jitterRatio: 1.5 } })
    expect(arrived.size).toBe(WAITING)
    expect(busiest(starts, 1_000)).toBeLessThanOrEqual(50)
    expect(starts.at(-1)!.at - starts[0]!.at).toBeLessThan(22_000)
  })

  it('E16: without waiting, an open breaker saves the events at once', async () => {
    const { letters, recorder, arrived } = await storm({ whenOpen: 'dead-letter' })
    expect(arrived.size + letters).toBe(WAITING)
    const reasons = recorder.of('letterSaved').map(({ letter }) => letter.cycle.reason)
    expect(reasons.filter(reason => reason === 'breaker_open').length).toBe(letters)
    expect(letters).toBeGreaterThan(0)
  })

  it.each([
    ['dead-letter', 'letterSaved', 999],
    ['drop', 'eventDropped', 999],
  ] as const)('E4: over the limit, %s does what it says to each event', async (onLimit, observed, count) => {
    const { recorder, arrived } = await storm({
      breaker: 'off',
      retry: { attempts: 2, backoff: fixed({ delayMs: DOWN_MS }) },
      batch: { maxCount: WAITING },
      retryLimit: { perSecond: 1, onLimit },
    })
    expect(arrived.size).toBe(1)
    expect(recorder.count(observed)).toBe(count)
  })

  it('E5: a clock that is set back holds nothing up', async () => {
    const clock = new FakeClock()
    let down = true
    let count = 0
    const sink: Sink = {
      async write(batch) {
        if (down) throw new Error('down')
        count += batch.length
      },
    }
    const events = createDispatcher({
      sinks: { sink },
      deadLetters: memoryDeadLetters(),
      clock,
      breaker: 'off',
    })
    for (let n = 0; n < 10; n++) void events.track({ type: 'x' })
    await clock.advance(50)
    down = false
    clock.jump(-3_600_000)
    await clock.advance(2_000)
    expect(count).toBe(10)
  })
  it('E5: a clock that is set back keeps no sink behind its open breaker', async () => {
    const clock = new FakeClock()
    let down = true
    const written: number[] = []
    const sink: Sink = {
      async write(batch) {
        if (down) throw new Error('down')
        written.push(batch.length)
      },
    }
    const breaker = { failures: 1, openMs: 5_000 }
    const deadLetters = memoryDeadLetters()
    const events = createDispatcher({ sinks: { sink }, deadLetters, clock, whenOpen: 'wait', breaker })
    void events.track({ type: 'x' })
    await clock.advance(1_000)
    down = false
    clock.jump(-3_600_000)
    // What was left of the open time, and all of it once more.
    await clock.advance(10_000)
    expect(written).toEqual([1])
  })
})
