import { describe, expect, it } from 'vitest'
import type {
  Instance,
  InstanceReport,
  InstanceState,
  ReportedConsumer,
  ReportedSink,
} from '../../ports/fleet.ts'
import { servicesOf } from './services.ts'

const consumer: ReportedConsumer = {
  ...{ channel: 'orders', handler: 'bill', broker: 'rabbitmq', breaker: 'closed', paused: [] },
  ...{ perMinute: 0, failureRate: 0, active: 0, waiting: 0 },
}
const sink: ReportedSink = {
  ...{ name: 'crm', breaker: 'closed', buffered: 0, inFlight: 0, retrying: 0, delivered: 0, gaveUp: 0 },
}

function instance(
  id: string,
  report: Partial<InstanceReport> = {},
  state: InstanceState = 'alive',
): Instance {
  const own = {
    v: 1,
    id,
    service: 'shop',
    host: 'web',
    pid: 1,
    startedAt: 0,
    consumers: [],
    sinks: [],
  } as const
  return { report: { ...own, ...report }, state, seenAt: 0, silentMs: 0 }
}

describe('servicesOf', () => {
  it('B17: counts the living, the gone and the left of each service', () => {
    const services = servicesOf([
      instance('m', { service: 'mailer' }),
      instance('a'),
      instance('b', {}, 'gone'),
      instance('c', {}, 'gone'),
      instance('d', {}, 'left'),
    ])
    expect(services.map(({ name, alive, gone, left }) => [name, alive, gone, left])).toEqual([
      ['mailer', 1, 0, 0],
      ['shop', 1, 2, 1],
    ])
  })

  it('B17: counts living processes by version, and weighs the failures by the events', () => {
    const busy = { ...consumer, perMinute: 90, failureRate: 0.1 }
    const failing = { ...consumer, perMinute: 10, failureRate: 1 }
    const [shop] = servicesOf([
      instance('a', { version: '1', consumers: [busy, failing] }),
      instance('b', { version: '1', release: 'r2' }),
      instance('c', { version: '1', consumers: [failing] }, 'gone'),
      instance('d', { version: '1' }),
    ])
    expect(shop!.versions).toEqual([
      { version: '1', release: undefined, processes: 2, failureRate: 0.19 },
      { version: '1', release: 'r2', processes: 1, failureRate: undefined },
    ])
  })

  it('B17: sums the living consumers, except the lag, which each process counts for all of a broker', () => {
    const [shop] = servicesOf([
      instance('a', {
        consumers: [{ ...consumer, perMinute: 3, active: 1, lag: 40, lastProcessedAt: 5, hasSchema: true }],
      }),
      instance('b', {
        consumers: [{ ...consumer, perMinute: 1, failureRate: 1, waiting: 2, lag: 42, lastProcessedAt: 4 }],
      }),
      instance('c', { consumers: [{ ...consumer, breaker: 'open', paused: ['breaker', 'manual'] }] }),
      instance('d', { consumers: [{ ...consumer, broker: 'redis', lag: 7 }] }),
      instance('e', { consumers: [{ ...consumer, breaker: 'open', perMinute: 9, lag: 99 }] }, 'gone'),
    ])
    expect(shop!.consumers).toEqual([
      {
        ...{ channel: 'orders', handler: 'bill', brokers: ['rabbitmq', 'redis'], hasSchema: true },
        ...{ processes: 4, breaker: 'open', paused: ['breaker', 'manual'], pausedProcesses: 1 },
        breakers: [
          { state: 'open', processes: 1 },
          { state: 'closed', processes: 3 },
        ],
        ...{ perMinute: 4, failureRate: 0.25, active: 1, waiting: 2, lag: 49 },
        lastProcessedAt: '1970-01-01T00:00:00.005Z',
      },
    ])
  })

  it('B17: two consumers of one process are one process', () => {
    const [shop] = servicesOf([instance('a', { consumers: [consumer, { ...consumer, active: 2 }] })])
    expect(shop!.consumers).toMatchObject([
      { processes: 1, active: 2, breakers: [{ state: 'closed', processes: 1 }] },
    ])
  })

  it('B17: keeps handlers and sinks apart, and sums the sinks of the same name', () => {
    const [shop] = servicesOf([
      instance('a', { consumers: [consumer, { ...consumer, handler: 'ship' }], sinks: [sink] }),
      instance('b', { sinks: [{ ...sink, breaker: 'open', buffered: 5, delivered: 3, lastDeliveredAt: 8 }] }),
    ])
    expect(shop!.consumers.map(({ handler }) => handler)).toEqual(['bill', 'ship'])
    expect(shop!.sinks).toEqual([
      {
        ...{ name: 'crm', processes: 2, buffered: 5, inFlight: 0, retrying: 0, delivered: 3, gaveUp: 0 },
        breakers: [
          { state: 'open', processes: 1 },
          { state: 'closed', processes: 1 },
        ],
        lastDeliveredAt: '1970-01-01T00:00:00.008Z',
      },
    ])
  })
})
