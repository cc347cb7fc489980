import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../../adapters/memory/letters/dead-letters.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Sink } from '../../../ports/sink.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Recorder } from '../../../testing/recorder.ts'
import { createDispatcher } from '../dispatcher.ts'
import type { BufferOptions } from '../lane/lane-options.ts'

/** A sink that answers only when it is let. */
function gate() {
  const written: LazaretEvent[] = []
  let open: () => void = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  const sink: Sink = {
    async write(batch) {
      await opened
      written.push(...batch)
    },
  }
  return { sink, written, open }
}

function setUp(buffer: BufferOptions) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const deadLetters = memoryDeadLetters()
  const { sink, written, open } = gate()
  const events = createDispatcher({
    sinks: { sink },
    deadLetters,
    clock,
    observer: recorder.observer,
    buffer,
  })
  const track = (payload?: unknown) => {
    const state = { value: 'waiting' as unknown }
    void events.track({ type: 'x', payload }, { wait: 'accepted' }).then(
      ({ sinks }) => {
        state.value = sinks.sink.outcome
      },
      (error: { result: { sinks: { sink: unknown } } }) => {
        state.value = error.result.sinks.sink
      },
    )
    return state
  }
  return { clock, recorder, deadLetters, events, written, open, track }
}

describe('a full buffer', () => {
  it('E17: by default one more event becomes a letter at once', async () => {
    const { track, clock, deadLetters, events } = setUp({ maxEvents: 2 })
    const tracked = [track(), track(), track()]
    await clock.advance(0)
    expect(tracked.map(({ value }) => value)).toMatchObject([
      'accepted',
      'accepted',
      { outcome: 'dead_lettered', reason: 'buffer_full' },
    ])
    expect((await deadLetters.list()).letters).toMatchObject([{ cycle: { reason: 'buffer_full' } }])
    expect(events.health().sinks.sink).toMatchObject({ buffered: 2, gaveUp: 1 })
  })

  it('E17: it can be dropped instead, and is counted', async () => {
    const { track, clock, deadLetters, recorder } = setUp({ maxEvents: 1, overflow: 'drop-newest' })
    const tracked = [track(), track()]
    await clock.advance(0)
    expect(tracked[1]?.value).toMatchObject({ outcome: 'dropped', reason: 'buffer_full' })
    expect((await deadLetters.stats()).count).toBe(0)
    expect(recorder.of('eventDropped')).toEqual([{ name: 'sink', type: 'x', reason: 'buffer_full' }])
  })

  it('E17: or track waits for room, in order, as many as the buffer holds', async () => {
    const { track, clock, open, written, events, deadLetters } = setUp({ maxEvents: 2, overflow: 'block' })
    const tracked = [0, 1, 2, 3, 4].map(track)
    await clock.advance(0)
    const values = () => tracked.map(({ value }) => value)
    expect(values()).toMatchObject(['accepted', 'accepted', 'waiting', 'waiting', { reason: 'buffer_full' }])
    open()
    await clock.advance(0)
    const flushed = events.flush()
    await clock.advance(0)
    await flushed
    expect(values().slice(0, 4)).toEqual(Array(4).fill('accepted'))
    expect(written.map(({ payload }) => payload)).toEqual([0, 1, 2, 3])
    expect((await deadLetters.stats()).count).toBe(1)
  })

  it('E17: bytes are bounded too, and an event larger than the buffer still finds its way', async () => {
    const { track, clock, written, open } = setUp({ maxBytes: 3_000 })
    const large = 'y'.repeat(2_000)
    const tracked = [track(large), track(large)]
    await clock.advance(0)
    expect(tracked.map(({ value }) => value)).toMatchObject(['accepted', { reason: 'buffer_full' }])
    open()
    await clock.advance(0)
    track('z'.repeat(10_000))
    await clock.advance(0)
    expect(written).toHaveLength(2)
  })
})
