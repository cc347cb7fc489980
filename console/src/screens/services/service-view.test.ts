import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import type { FleetInstance, FleetService } from '../../api/types.ts'
import { HeldUp } from '../../ui/pauses.tsx'
import { partsOfInstance, partsOfService } from './service-view.ts'

const time = '2026-05-04T03:00:00.000Z'
const consumer: FleetInstance['consumers'][number] = {
  ...{
    channel: 'orders',
    handler: 'bill',
    broker: 'rabbitmq',
    breaker: 'open',
    paused: ['breaker', 'manual'],
  },
  ...{
    perMinute: 4,
    failureRate: 0.25,
    active: 1,
    waiting: 2,
    lag: 42,
    lastProcessedAt: time,
    hasSchema: true,
  },
}
const sink: FleetInstance['sinks'][number] = {
  ...{ name: 'crm', breaker: 'closed', buffered: 5, inFlight: 2, retrying: 1, delivered: 3, gaveUp: 1 },
  lastDeliveredAt: time,
}
const instance: FleetInstance = {
  ...{ id: 'a', store: 'main', service: 'shop', host: 'web', pid: 1, startedAt: time, seenAt: time },
  ...{ state: 'alive', silentMs: 0, consumers: [consumer], sinks: [sink] },
}
const service: FleetService = {
  ...{ name: 'shop', alive: 3, gone: 0, left: 0, versions: [] },
  consumers: [
    {
      ...{ channel: 'orders', handler: 'bill', brokers: ['rabbitmq', 'redis'], processes: 3 },
      ...{ breaker: 'open', paused: ['manual'], pausedProcesses: 1, active: 1, waiting: 2 },
      ...{ perMinute: 0, failureRate: 0 },
      breakers: [
        { state: 'open', processes: 1 },
        { state: 'closed', processes: 2 },
      ],
    },
  ],
  sinks: [],
}

describe('partsOfInstance', () => {
  it('B17: shows the consumers and sinks of one process', () => {
    expect(partsOfInstance(instance)).toEqual([
      {
        ...{ kind: 'consumer', name: 'orders', handler: 'bill', broker: 'rabbitmq', hasSchema: true },
        ...{ processes: 1, breakers: [{ state: 'open', processes: 1 }] },
        ...{ paused: ['breaker', 'manual'], stalled: [], pausedProcesses: 1 },
        ...{ perMinute: 4, failureRate: 0.25, active: 1, waiting: 2, backlog: 42, lastAt: time },
      },
      {
        ...{ kind: 'sink', name: 'crm', handler: undefined, broker: undefined, hasSchema: false },
        ...{
          processes: 1,
          breakers: [{ state: 'closed', processes: 1 }],
          paused: [],
          stalled: [],
          pausedProcesses: 0,
        },
        ...{ perMinute: undefined, failureRate: 0.25, active: 2, waiting: 1, backlog: 5, lastAt: time },
      },
    ])
  })

  it('B17: shows what the broker of a process holds up', () => {
    const stalled: FleetInstance = { ...instance, consumers: [{ ...consumer, stalled: ['deliveries'] }] }
    const [part] = partsOfInstance(stalled)
    expect(part?.stalled).toEqual(['deliveries'])
    expect(renderToStaticMarkup(createElement(HeldUp, { stalled: part!.stalled }))).toContain(
      'Stalled by the broker: no events arrive',
    )
    expect(renderToStaticMarkup(createElement(HeldUp, {}))).toBe('')
  })

  it('B17: has no failure rate for what has no events', () => {
    const idle = { ...instance, consumers: [{ ...consumer, perMinute: 0, failureRate: 0 }] }
    const fresh = { ...sink, delivered: 0, gaveUp: 0 }
    const rates = partsOfInstance({ ...idle, sinks: [fresh] }).map(({ failureRate }) => failureRate)
    expect(rates).toEqual([undefined, undefined])
  })
})

describe('partsOfService', () => {
  it('B17: shows the sums of the living processes', () => {
    expect(partsOfService(service)).toMatchObject([
      {
        ...{ kind: 'consumer', name: 'orders', broker: 'rabbitmq, redis', hasSchema: false },
        ...{ processes: 3, pausedProcesses: 1, failureRate: undefined, backlog: undefined },
        breakers: service.consumers[0]!.breakers,
      },
    ])
  })
})
