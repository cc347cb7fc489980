import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../../adapters/memory/letters/dead-letters.ts'
import { memorySink } from '../../../adapters/memory/sink.ts'
import type { Sink } from '../../../ports/sink.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Recorder } from '../../../testing/recorder.ts'
import { createDispatcher } from '../dispatcher.ts'
import type { DispatcherOptions } from '../dispatcher-options.ts'

function setUp(options: Partial<DispatcherOptions> = {}, hangs = false) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const state = { isUp: true, probes: 0, written: 0 }
  const check = async () => {
    if (!state.isUp && hangs) await new Promise(() => {})
    if (!state.isUp) throw new Error('down')
  }
  const sick: Sink = {
    async write(batch) {
      await check()
      state.written += batch.length
    },
    async probe() {
      state.probes++
      await check()
    },
  }
  const well = Object.assign(memorySink(), { probe: async () => void wellProbes.push(clock.now()) })
  const wellProbes: number[] = []
  const events = createDispatcher({
    sinks: { sick, well },
    deadLetters: memoryDeadLetters(),
    clock,
    observer: recorder.observer,
    retry: { attempts: 1 },
    ...options,
  })
  /** Five failed writes open the breaker. */
  const goDown = async () => {
    state.isUp = false
    for (let n = 0; n < 5; n++) {
      void events.track({ type: 'x' }, { wait: 'accepted' })
      await clock.advance(6_000)
    }
    expect(events.breaker('sick')?.state.mode).not.toBe('closed')
  }
  return { clock, recorder, state, events, wellProbes, goDown }
}

describe('the health checker', () => {
  it.each([
    ['fails', false],
    ['hangs', true],
  ])('E18: a sink that %s is closed again within 60 s of its return, whenever that is', async (_, hangs) => {
    for (const downMs of [0, 1, 9_999, 29_000, 59_999, 60_000, 61_000, 125_000, 600_001]) {
      const { clock, events, state, goDown } = setUp({}, hangs)
      await goDown()
      await clock.advance(downMs)
      expect(events.health().status).toBe('DEGRADED')
      state.isUp = true
      let recoveredAfterMs = 0
      while (events.breaker('sick')?.state.mode !== 'closed' && recoveredAfterMs <= 120_000) {
        await clock.advance(1_000)
        recoveredAfterMs += 1_000
      }
      expect(recoveredAfterMs).toBeLessThanOrEqual(60_000)
      expect(events.health().status).toBe('UP')
    }
  })

  it('E18: only sinks whose breaker is not closed are asked, and none once all are well', async () => {
    const { clock, wellProbes, recorder, state, goDown } = setUp()
    await clock.advance(600_000)
    expect(state.probes).toBe(0)
    expect(clock.pending).toBe(0)
    await goDown()
    await clock.advance(30_000)
    expect(state.probes).toBeGreaterThanOrEqual(3)
    expect(wellProbes).toEqual([])
    expect(recorder.of('healthChecked')[0]).toEqual({ name: 'sick', healthy: false })
    state.isUp = true
    await clock.advance(60_000)
    const probes = state.probes
    await clock.advance(600_000)
    expect(state.probes).toBe(probes)
  })

  it('E18: what waited goes on once the breaker is closed, though no event came to try it', async () => {
    const { clock, events, state, goDown } = setUp({ whenOpen: 'wait' })
    await goDown()
    for (let n = 0; n < 20; n++) void events.track({ type: 'x' }, { wait: 'accepted' })
    await clock.advance(1_000)
    state.isUp = true
    await clock.advance(60_000)
    expect(state.written).toBe(20)
  })

  it('E18: a breaker that a person forced open is left alone, and it can be switched off', async () => {
    const forced = setUp()
    forced.events.breaker('sick')?.force('open', 'ann')
    await forced.clock.advance(600_000)
    expect([forced.state.probes, forced.events.breaker('sick')?.state.mode]).toEqual([0, 'forced-open'])
    const off = setUp({ healthCheck: 'off' })
    await off.goDown()
    await off.clock.advance(600_000)
    expect(off.state.probes).toBe(0)
  })
})
