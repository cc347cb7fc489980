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
    reportSinks: (id: string, breaker: 'open' | 'closed') =>
      fleet!.report(
        {
          ...{ v: 1, id, service: 'shop', host: 'h', pid: 1, startedAt: 0, consumers: [] },
          sinks: [{ name: 'crm', breaker, buffered: 0, inFlight: 0, retrying: 0, delivered: 0, gaveUp: 0 }],
        },
        15_000,
      ),
    async ask(channel = 'orders') {
      await clock.advance(2_000)
      return (await gate(channel)).fault
    },
    gate,
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

  it('B18: says whose report it has and how old that is, also without a fault', async () => {
    const { clock, report, gate, fleet } = world()
    await report('a', OPEN)
    await clock.advance(4_000)
    await report('b', HEALTHY)
    await clock.advance(2_000)
    expect(await gate('orders')).toEqual({
      fault: undefined,
      answer: {
        ...{ answeredBy: 'fleet', saidAt: clock.now() - 6_000, count: 2 },
        processes: [
          { id: 'a', service: 'shop' },
          { id: 'b', service: 'shop' },
        ],
      },
    })
    const nobody = (reason: string) => ({ answer: { answeredBy: 'nobody', reason } })
    expect(await gate('refunds')).toEqual(nobody('no living process in the fleet consumes refunds'))
    fleet.list = () => Promise.reject(new Error('away'))
    await clock.advance(2_000)
    expect(await gate('orders')).toEqual(nobody('the fleet of the store cannot be read'))
    expect(await fleetGate([], clock)('orders')).toEqual(nobody('the store keeps no fleet'))
  })

  it('B18, E17: a sink has a fault when its breaker is open in every process, whatever its channel does', async () => {
    const { clock, reportSinks, report, gate } = world()
    await report('a', OPEN)
    expect(await gate('orders', 'crm')).toMatchObject({
      answer: { answeredBy: 'nobody', reason: "no living process in the fleet has the sink 'crm'" },
    })
    await reportSinks('b', 'open')
    await clock.advance(2_000)
    expect((await gate('orders', 'crm')).fault).toBe(
      'the sink crm has an open breaker in 1 process of shop (reported 2 s ago)',
    )
    await reportSinks('c', 'closed')
    await clock.advance(2_000)
    expect(await gate('orders', 'crm')).toMatchObject({ fault: undefined, answer: { count: 2 } })
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
