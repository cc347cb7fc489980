import { describe, expect, it } from 'vitest'
import type { FleetInstance } from '../../api/types.ts'
import { partsOf, servicesOf } from './service-view.ts'

type Consumer = FleetInstance['consumers'][number]

const consumer: Consumer = {
  ...{ channel: 'orders', handler: 'bill', broker: 'rabbitmq', breaker: 'closed', paused: [] },
  ...{ perMinute: 0, failureRate: 0, active: 0, waiting: 0 },
}
const sink: FleetInstance['sinks'][number] = {
  ...{ name: 'crm', breaker: 'closed', buffered: 0, inFlight: 0, retrying: 0, delivered: 0, gaveUp: 0 },
}

function instance(id: string, more: Partial<FleetInstance> = {}): FleetInstance {
  const time = '2026-05-04T03:00:00.000Z'
  return {
    ...{ id, store: 'main', service: 'shop', host: 'web', pid: 1, startedAt: time, seenAt: time },
    ...{ state: 'alive', silentMs: 0, consumers: [], sinks: [] },
    ...more,
  }
}

describe('servicesOf', () => {
  it('B17: keeps the living, the gone and the left of a service apart, those seen last first', () => {
    const services = servicesOf([
      instance('m', { service: 'mailer' }),
      instance('a'),
      instance('b', { state: 'gone', silentMs: 60_000 }),
      instance('c', { state: 'gone', silentMs: 20_000 }),
      instance('d', { state: 'left' }),
    ])
    expect(services.map(({ name }) => name)).toEqual(['mailer', 'shop'])
    const { alive, gone, left } = services[1]!
    expect([alive, gone, left].map(each => each.map(({ id }) => id))).toEqual([['a'], ['c', 'b'], ['d']])
  })

  it('B17: counts living processes by version, and weighs the failures by the events', () => {
    const busy = { ...consumer, perMinute: 90, failureRate: 0.1 }
    const failing = { ...consumer, perMinute: 10, failureRate: 1 }
    const [shop] = servicesOf([
      instance('a', { version: '1', consumers: [busy, failing] }),
      instance('b', { version: '1', release: 'r2' }),
      instance('c', { version: '1', state: 'gone', consumers: [failing] }),
      instance('d', { version: '1' }),
    ])
    expect(shop!.versions).toEqual([
      { version: '1', release: undefined, processes: 2, failureRate: 0.19 },
      { version: '1', release: 'r2', processes: 1, failureRate: undefined },
    ])
  })
})

describe('partsOf', () => {
  it('B17: sums the consumers of processes, except the lag, which each process counts for all', () => {
    const at = (hour: number) => `2026-05-04T0${hour}:00:00.000Z`
    const [part] = partsOf([
      instance('a', {
        consumers: [
          { ...consumer, perMinute: 3, active: 1, lag: 40, lastProcessedAt: at(5), hasSchema: true },
        ],
      }),
      instance('b', {
        consumers: [
          { ...consumer, perMinute: 1, failureRate: 1, waiting: 2, lag: 42, lastProcessedAt: at(4) },
        ],
      }),
      instance('c', { consumers: [{ ...consumer, breaker: 'open', paused: ['breaker', 'manual'] }] }),
    ])
    expect(part).toEqual({
      ...{ kind: 'consumer', name: 'orders', handler: 'bill', broker: 'rabbitmq', hasSchema: true },
      breakers: ['closed', 'closed', 'open'],
      paused: [[], [], ['breaker', 'manual']],
      ...{ perMinute: 4, failureRate: 0.25, active: 1, waiting: 2, backlog: 42, lastAt: at(5) },
    })
  })

  it('B17: keeps handlers and sinks apart, and sums the sinks of the same name', () => {
    const parts = partsOf([
      instance('a', { consumers: [consumer, { ...consumer, handler: 'ship' }], sinks: [sink] }),
      instance('b', { sinks: [{ ...sink, buffered: 5, delivered: 3, gaveUp: 1 }] }),
    ])
    expect(parts.map(({ kind, name, handler }) => [kind, name, handler])).toEqual([
      ['consumer', 'orders', 'bill'],
      ['consumer', 'orders', 'ship'],
      ['sink', 'crm', undefined],
    ])
    expect(parts[0]).toMatchObject({ failureRate: undefined, backlog: undefined })
    expect(parts[2]).toMatchObject({ paused: [], perMinute: undefined, failureRate: 0.25, backlog: 5 })
  })
})
