import { describe, expect, it } from 'vitest'
import { memoryStore } from '../adapters/memory/index.ts'
import type { ReportedConsumer } from '../ports/fleet.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { fleetGate } from './fleet-gate.ts'

const HEALTHY: ReportedConsumer = {
  ...{ channel: 'orders', handler: 'bill', broker: 'rabbitmq', breaker: 'closed', paused: [] },
  ...{ perMinute: 0, failureRate: 0, active: 0, waiting: 0 },
}
const OPEN = { ...HEALTHY, breaker: 'open' } as const
const PAUSED = { ...HEALTHY, paused: ['manual'] } as const

function world() {
  const clock = new FakeClock()
  const { fleet } = memoryStore({ clock })
  const gate = fleetGate([fleet!], clock)
  return {
    clock,
    fleet: fleet!,
    report: (id: string, ...consumers: readonly ReportedConsumer[]) =>
      fleet!.report(
        { v: 1, id, service: 'shop', host: 'h', pid: 1, startedAt: 0, consumers, sinks: [] },
        15_000,
      ),
    async ask(channel = 'orders') {
      await clock.advance(2_000)
      return gate(channel)
    },
  }
}

describe('the downstream gate of the fleet', () => {
  it('B18: a channel whose consumer takes events in no process has a fault that says whose report it is', async () => {
    const { report, ask } = world()
    await report('a', OPEN)
    expect(await ask()).toBe('the consumer bill has an open breaker in 1 process of shop (reported 2 s ago)')
    await report('b', PAUSED)
    expect(await ask()).toBe(
      'the consumer bill has an open breaker or is paused manually in all 2 processes of shop (reported 4 s ago)',
    )
  })

  it('B18: one process that takes events is enough', async () => {
    const { report, ask } = world()
    await report('a', OPEN)
    await report('b', HEALTHY)
    expect(await ask()).toBeUndefined()
    await report('b', { ...HEALTHY, breaker: 'half-open' })
    expect(await ask()).toBeUndefined()
  })

  it('B18: each handler of a channel counts, and other channels do not', async () => {
    const { report, ask } = world()
    await report('a', HEALTHY, { ...OPEN, handler: 'mail' })
    expect(await ask()).toMatch(/^the consumer mail has an open breaker/)
    expect(await ask('refunds')).toBeUndefined()
  })

  it('B18: processes that are gone or left say nothing, and neither does a store that is away', async () => {
    const { report, ask, clock, fleet } = world()
    await report('a', OPEN)
    await clock.advance(15_000)
    expect(await ask()).toBeUndefined()
    await report('a', OPEN)
    await fleet.leave('a')
    expect(await ask()).toBeUndefined()
    await report('a', OPEN)
    fleet.list = () => Promise.reject(new Error('away'))
    expect(await ask()).toBeUndefined()
  })

  it('B18: a plan of many letters reads the reports once a second', async () => {
    const { report, ask, fleet } = world()
    await report('a', OPEN)
    const { list } = fleet
    let reads = 0
    fleet.list = () => {
      reads++
      return list.call(fleet)
    }
    await ask()
    const gate = fleetGate([fleet], new FakeClock())
    for (let n = 0; n < 100; n++) await gate('orders')
    expect(reads).toBe(2)
  })
})
