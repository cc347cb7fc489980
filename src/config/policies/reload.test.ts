import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { memoryBroker, memoryDeadLetters } from '../../adapters/memory/index.ts'
import { TransientError } from '../../core/failure/signals.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import type { ConsumerOptions } from '../../runtime/consumer/consumer-options.ts'
import { createEvent } from '../../runtime/create-event.ts'
import { createDispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import { resilient } from '../../runtime/resilient/resilient.ts'
import { ConfigError } from '../config-error.ts'
import { loadPolicies } from './load-policies.ts'

const folder = mkdtempSync(join(tmpdir(), 'lazaret-reload-'))
const path = join(folder, 'lazaret.yaml')
afterAll(() => rmSync(folder, { recursive: true }))

function write(policies: object): void {
  writeFileSync(path, JSON.stringify({ policies }))
}

function load(policies: object) {
  write(policies)
  return loadPolicies(path, { env: {} })
}

const NO_WAIT = { kind: 'fixed', delay: '0ms' }

/** A consumer whose handler always fails, and the number of attempts of each event. */
async function failingConsumer(options: Partial<ConsumerOptions> & Pick<ConsumerOptions, 'channel'>) {
  const broker = memoryBroker()
  let attempts = 0
  let saved = Promise.withResolvers<number>()
  const consumer = createConsumer({
    ...options,
    broker,
    observer: { letterSaved: () => saved.resolve(attempts) },
    handle: () => {
      attempts++
      throw new TransientError('The database is unreachable.')
    },
  })
  await consumer.start()
  const attemptsOfNext = async () => {
    attempts = 0
    saved = Promise.withResolvers()
    await broker.publish([createEvent({ channel: options.channel, type: 'order.placed', payload: {} })])
    return saved.promise
  }
  return { consumer, attemptsOfNext }
}

describe('a reload of policies', () => {
  it('R1: a running consumer handles its next event by the new retry policy', async () => {
    const orders = { breaker: 'off', retryLimit: 'off' }
    const policies = load({ channels: { orders: { ...orders, retry: { attempts: 2, backoff: NO_WAIT } } } })
    const { consumer, attemptsOfNext } = await failingConsumer(policies.consumer('orders'))
    expect(await attemptsOfNext()).toBe(2)
    write({ channels: { orders: { ...orders, retry: { attempts: 4, backoff: NO_WAIT } } } })
    expect(policies.reload()).toEqual({ applied: ['channels.orders.retry'], needsRestart: [] })
    expect(await attemptsOfNext()).toBe(4)
    expect(policies.consumer('orders').retry).toMatchObject({ attempts: 4 })
    expect(policies.reload()).toEqual({ applied: [], needsRestart: [] })
    await consumer.close()
  })

  it('R1: a live breaker gets the new threshold and keeps its failures in a row', async () => {
    const retry = { attempts: 1 }
    const policies = load({ channels: { orders: { retry, breaker: { failures: 5 } } } })
    const { consumer, attemptsOfNext } = await failingConsumer(policies.consumer('orders'))
    await attemptsOfNext()
    await attemptsOfNext()
    expect(consumer.breaker?.state).toMatchObject({ mode: 'closed', failures: 2 })
    write({ channels: { orders: { retry, breaker: { failures: 3, failureRate: { threshold: 1 } } } } })
    policies.reload()
    expect(consumer.breaker?.state).toMatchObject({ mode: 'closed', failures: 2 })
    await attemptsOfNext()
    expect(consumer.breaker?.state.mode).toBe('open')
    await consumer.close()
  })

  it('R1: every option of a consumer that can change does, and the others need a restart until they are as before', async () => {
    const before = { timeout: '5s', concurrency: 4, prefetch: 8, budget: { ratio: 0.5 } }
    const policies = load({ channels: { orders: before } })
    const consumer = createConsumer({
      ...policies.consumer('orders'),
      broker: memoryBroker(),
      handle: () => {},
    })
    write({
      channels: {
        orders: {
          timeout: '6s',
          concurrency: 8,
          prefetch: 9,
          budget: { ratio: 0.1, window: '20s' },
          breaker: 'off',
          ordering: 'by-key',
          poison: 'off',
          expiresAfter: '30d',
          autoReplay: ['transient'],
          watch: { depth: 5 },
          filter: { never: ['health.*'] },
          retryLimit: { perSecond: 5 },
        },
      },
    })
    const names = ['autoReplay', 'budget', 'concurrency', 'expiresAfter', 'filter', 'poison', 'retryLimit']
    expect(policies.reload()).toEqual({
      applied: [...names, 'timeout', 'watch'].map(name => `channels.orders.${name}`),
      needsRestart: ['channels.orders.breaker', 'channels.orders.ordering', 'channels.orders.prefetch'],
    })
    expect(consumer.health()).toMatchObject({ breakerState: 'closed', watch: { depth: 5 } })
    write({ channels: { orders: { ...before, concurrency: 20, prefetch: 20 } } })
    expect(policies.reload().needsRestart).toEqual([
      'channels.orders.concurrency',
      'channels.orders.prefetch',
    ])
    write({ channels: { orders: before } })
    expect(policies.reload().needsRestart).toEqual([])
    await consumer.close()
    write({ channels: { orders: { timeout: '1s' } } })
    expect(policies.reload()).toEqual({ applied: [], needsRestart: [] })
  })

  it('R1: a raised concurrency starts what waits', async () => {
    const policies = load({ channels: { orders: { concurrency: 1, prefetch: 4 } } })
    const broker = memoryBroker()
    const both = Promise.withResolvers<void>()
    const first = Promise.withResolvers<void>()
    let running = 0
    const consumer = createConsumer({
      ...policies.consumer('orders'),
      broker,
      handle: () => {
        running++
        first.resolve()
        if (running === 2) both.resolve()
        return both.promise
      },
    })
    await consumer.start()
    const event = { channel: 'orders', type: 'order.placed', payload: {} }
    await broker.publish([createEvent(event), createEvent(event)])
    await first.promise
    expect(running).toBe(1)
    write({ channels: { orders: { concurrency: 2, prefetch: 4 } } })
    policies.reload()
    await both.promise
    await consumer.close()
  })

  it('R1: options that code gives take precedence and stay', async () => {
    const policies = load({
      channels: { orders: { retry: { attempts: 2, backoff: NO_WAIT }, breaker: 'off' } },
    })
    const { consumer, attemptsOfNext } = await failingConsumer({
      ...policies.consumer('orders'),
      retry: { attempts: 1 },
    })
    write({
      channels: { orders: { retry: { attempts: 4, backoff: NO_WAIT }, breaker: 'off', timeout: '9s' } },
    })
    expect(policies.reload()).toEqual({ applied: ['channels.orders.timeout'], needsRestart: [] })
    expect(await attemptsOfNext()).toBe(1)
    await consumer.close()
  })

  it('R1: a file with faults, or one that does not fit the code, changes nothing', async () => {
    const retry = { attempts: 2, backoff: NO_WAIT }
    const policies = load({
      channels: { orders: { retry, breaker: 'off' } },
      calls: { fetch: { timeout: '1s' } },
    })
    const { consumer, attemptsOfNext } = await failingConsumer({
      ...policies.consumer('orders'),
      leaseMs: 40_000,
    })
    const fetch = resilient(async () => 'done', policies.call('fetch'))
    write({ channels: { orders: { retry: { attempts: 0 } } }, cals: {} })
    expect(() => policies.reload()).toThrow(ConfigError)
    write({
      channels: { orders: { retry: { attempts: 5 }, timeout: '50s' } },
      calls: { fetch: { timeout: '2s' } },
    })
    expect(() => policies.reload()).toThrow(
      'lazaret.yaml: channels.orders does not fit the options that code gives: consumer.leaseMs: got 40000; give more than timeoutMs (50000)',
    )
    expect(policies.consumer('orders').retry).toMatchObject({ attempts: 2 })
    expect(await attemptsOfNext()).toBe(2)
    write({ channels: { orders: { retry, breaker: 'off' } }, calls: { fetch: { timeout: '2s' } } })
    expect(policies.reload()).toEqual({ applied: ['calls.fetch.timeout'], needsRestart: [] })
    expect(await fetch()).toBe('done')
    await consumer.close()
  })

  it('R1: the sinks of a dispatcher take over their own options and those of the dispatcher', async () => {
    const policies = load({
      dispatcher: { retry: { attempts: 1 }, failOnErrorIn: [], rateLimit: { perSecond: 1_000, burst: 1 } },
      sinks: { loki: { breaker: 'off' }, log: { breaker: 'off' } },
    })
    const writes = { loki: 0, log: 0 }
    const sink = (name: 'loki' | 'log') => ({
      write: () => {
        writes[name]++
        throw new TransientError('The sink is unreachable.')
      },
    })
    const events = createDispatcher({
      ...policies.dispatcher(),
      sinks: { loki: sink('loki'), log: sink('log') },
      deadLetters: memoryDeadLetters(),
    })
    const event = { type: 'order.paid', payload: {}, severity: 'error' }
    await events.track(event)
    expect(writes).toEqual({ loki: 1, log: 1 })
    write({
      dispatcher: {
        retry: { attempts: 2, backoff: NO_WAIT },
        failOnErrorIn: ['cli'],
        rateLimit: { perSecond: 2_000, burst: 1 },
        source: '/shop',
      },
      sinks: {
        loki: { breaker: 'off', retry: { attempts: 3 }, buffer: { maxEvents: 5 } },
        log: { breaker: 'off' },
      },
    })
    expect(policies.reload()).toEqual({
      applied: ['dispatcher.failOnErrorIn', 'dispatcher.rateLimit', 'sinks.log.retry', 'sinks.loki.retry'],
      needsRestart: ['dispatcher.source', 'sinks.loki.buffer'],
    })
    await expect(events.track(event)).rejects.toMatchObject({ name: 'TrackingError' })
    expect(writes).toEqual({ loki: 4, log: 3 })
    await events.close()
  })

  it('R1: a sink of the file that the dispatcher does not have is refused as at the start', async () => {
    const policies = load({ dispatcher: {} })
    const events = createDispatcher({
      ...policies.dispatcher(),
      sinks: { log: { write: async () => {} } },
      deadLetters: memoryDeadLetters(),
    })
    write({ sinks: { loki: { retry: { attempts: 3 } } } })
    expect(() => policies.reload()).toThrow('name one of the sinks: log')
    await events.close()
  })

  it('R1: the next call of a protected function follows the new policies', async () => {
    const policies = load({ defaults: { call: { retry: { attempts: 1, backoff: NO_WAIT } } } })
    let attempts = 0
    const call = resilient(() => {
      attempts++
      throw new TransientError('No answer.')
    }, policies.call('fetch'))
    await call().catch(() => {})
    expect(attempts).toBe(1)
    write({ calls: { fetch: { retry: { attempts: 3, backoff: NO_WAIT }, breaker: {} } } })
    expect(policies.reload()).toEqual({
      applied: ['calls.fetch.retry'],
      needsRestart: ['calls.fetch.breaker'],
    })
    await call().catch(() => {})
    expect(attempts).toBe(4)
  })

  it('R1: a file that was emptied is a fault, also the second time, and a map without options is not', () => {
    const policies = load({ calls: { fetch: { retry: { attempts: 2 } } } })
    for (const text of ['', ' \n', '# nothing\n', '---\n', 'null', '{}', 'policies:\n'])
      for (const _ of ['first', 'second']) {
        writeFileSync(path, text)
        expect(() => policies.reload()).toThrow(`${path}: is empty; write 'policies: {}' for the defaults`)
      }
    expect(policies.call('fetch').retry).toEqual({ attempts: 2 })
    writeFileSync(path, 'policies: {}')
    policies.reload()
    expect(policies.call('fetch').retry).toBeUndefined()
    writeFileSync(path, '')
    expect(loadPolicies(path, { env: {} }).reload()).toEqual({ applied: [], needsRestart: [] })
  })

  it('R1: policies from an object have nothing to reload', () => {
    const policies = loadPolicies({}, { env: {} })
    expect(() => policies.reload()).toThrow(
      'policies from an object cannot be reloaded; give the path of a file',
    )
    expect(() => policies.watch()).toThrow(
      'policies from an object cannot be watched; give the path of a file',
    )
  })
})
