import { describe, expect, it } from 'vitest'
import { memoryBroker, memoryDeadLetters } from '../../adapters/memory/index.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { createEvent } from '../../runtime/create-event.ts'
import { createDispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import { ConfigError } from '../config-error.ts'
import { loadPolicies } from './load-policies.ts'
import { parseServiceConfig } from './read-file.ts'

const DAY_MS = 86_400_000

const FILE = `
policies:
  defaults:
    consumer:
      expiresAfter: 30d
      autoReplay: [transient]
      replayLimit: 5
  channels:
    orders:
      expiresAfter: never
      autoReplay: [transient, business]
      replayLimit: { default: 2, byChannel: { orders: 1 } }
      handlers:
        billing: { expiresAfterMs: 60000 }
    parcels:
      expiresAfter: { default: never, byReason: { expired: 12h }, byChannel: { parcels: { byReason: { poison: 1w } } } }
  dispatcher:
    channel: shop.events
    expiresAfter: { default: 90d, byChannel: { audit: never } }
    autoReplay: [integration]
    replayLimit: 4
    failOnErrorIn: [request, job]
`

function policiesOf(text: string, env: Readonly<Record<string, string>> = {}) {
  return parseServiceConfig(text, 'lazaret.yaml', env).policies
}

function faultsOf(text: string, env: Readonly<Record<string, string>> = {}): readonly string[] {
  try {
    policiesOf(text, env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
}

describe('the options of letters in a file', () => {
  it('R1 R2 R3 R4: are given with durations, for all consumers, by channel and by handler', () => {
    const policies = policiesOf(FILE)
    expect(policies.consumer('other')).toEqual({
      expiresAfterMs: 30 * DAY_MS,
      autoReplay: ['transient'],
      replayLimit: 5,
    })
    expect(policies.consumer('orders')).toEqual({
      expiresAfterMs: 'never',
      autoReplay: ['transient', 'business'],
      replayLimit: { default: 2, byChannel: { orders: 1 } },
    })
    expect(policies.consumer('orders', 'billing')).toMatchObject({ expiresAfterMs: 60_000 })
    expect(policies.consumer('parcels')).toMatchObject({
      expiresAfterMs: {
        default: 'never',
        byReason: { expired: DAY_MS / 2 },
        byChannel: { parcels: { byReason: { poison: 7 * DAY_MS } } },
      },
    })
  })

  it('R1 R13: the dispatcher has them too, with its channel and the contexts in which failures are thrown', () => {
    expect(policiesOf(FILE).dispatcher()).toEqual({
      channel: 'shop.events',
      expiresAfterMs: { default: 90 * DAY_MS, byChannel: { audit: 'never' } },
      autoReplay: ['integration'],
      replayLimit: 4,
      failOnErrorIn: ['request', 'job'],
    })
  })

  it('R1 R2 R3: reach the letters of a consumer and of a dispatcher', async () => {
    const policies = loadPolicies(
      {
        channels: { orders: { expiresAfter: '30d', autoReplay: ['business'] } },
        dispatcher: { channel: 'shop', expiresAfter: 'never', retry: { attempts: 1 }, failOnErrorIn: [] },
      },
      { env: {} },
    )
    const broker = memoryBroker()
    const deadLetters = memoryDeadLetters()
    const dead = Promise.withResolvers<void>()
    const consumer = createConsumer({
      ...policies.consumer('orders'),
      broker,
      deadLetters,
      leaveOpen: true,
      observer: { letterSaved: () => dead.resolve() },
      handle: () => {
        throw new PermanentError('out of stock', { category: 'business' })
      },
    })
    await consumer.start()
    await broker.publish([createEvent({ channel: 'orders', type: 'order.placed', payload: {} })])
    await dead.promise
    await consumer.close()
    const sinks = {
      log: {
        write: () => {
          throw new PermanentError('the disk is full')
        },
      },
    }
    const events = createDispatcher({ ...policies.dispatcher(), sinks, deadLetters, leaveOpen: true })
    await events.track({ type: 'order.paid', payload: {} })
    await events.close()
    const { letters } = await deadLetters.list({})
    expect(
      letters.map(({ channel, expiresAfterMs, autoReplay }) => [channel, expiresAfterMs, autoReplay]),
    ).toEqual(
      expect.arrayContaining([
        ['orders', 30 * DAY_MS, true],
        ['shop', 'never', undefined],
      ]),
    )
  })

  it('R1: faults have file, line and remedy, in the words of the file', () => {
    const faults = faultsOf(`policies:
  defaults:
    consumer:
      expiresAfter: soon
      autoReplay: transient
      replayLimit: 0
  channels:
    a: { expiresAfter: 30 }
    b: { expiresAfter: { default: 0d, byReson: {} } }
    c: { expiresAfter: { byReason: { expird: 1d } } }
    d: { expiresAfter: { byChannel: { orders: [1d] } } }
    e: { expiresAfterMs: 30d }
    f: { autoReplay: [transient, bussiness] }
    g: { replayLimit: { byChannel: { orders: many } } }
    h: { expiresAfter: 1d, expiresAfterMs: 5 }
  dispatcher:
    failOnErrorIn: [web]
    channel: a..b
`)
    expect(faults).toEqual([
      "lazaret.yaml:4: policies.defaults.consumer.expiresAfter: got \"soon\"; give a duration above 0 such as '30d', or 'never'",
      'lazaret.yaml:5: policies.defaults.consumer.autoReplay: got "transient"; give a list of transient, schema, business, integration, unknown',
      'lazaret.yaml:6: policies.defaults.consumer.replayLimit: got 0; give a whole number from 1 to 1000',
      "lazaret.yaml:8: policies.channels.a.expiresAfter: got 30; give a duration above 0 such as '30d', or 'never'",
      "lazaret.yaml:9: policies.channels.b.expiresAfter.default: got \"0d\"; give a duration above 0 such as '30d', or 'never'",
      "lazaret.yaml:9: policies.channels.b.expiresAfter.byReson: got an object; unknown option, did you mean 'byReason'?",
      'lazaret.yaml:10: policies.channels.c.expiresAfter.byReason.expird: got "1d"; unknown option, did you mean \'expired\'?',
      "lazaret.yaml:11: policies.channels.d.expiresAfter.byChannel.orders: got an array of 1; give a duration above 0 such as '30d', or 'never'",
      'lazaret.yaml:12: policies.channels.e.expiresAfterMs: got "30d"; give milliseconds above 0, or \'never\' to keep them without limit',
      "lazaret.yaml:13: policies.channels.f.autoReplay.1: got \"bussiness\"; give one of 'transient', 'schema', 'business', 'integration', 'unknown'",
      'lazaret.yaml:14: policies.channels.g.replayLimit.byChannel.orders: got "many"; give a whole number from 1 to 1000',
      'lazaret.yaml:15: policies.channels.h.expiresAfterMs: got 5; give expiresAfter or expiresAfterMs, not both',
      "lazaret.yaml:17: policies.dispatcher.failOnErrorIn.0: got \"web\"; give one of 'request', 'cli', 'job'",
      expect.stringMatching(
        /^lazaret.yaml:18: policies.dispatcher.channel: got "a..b"; give a name of 1 to 120 /,
      ),
    ])
  })

  it.each([
    ['autoReplay', 'letter => letter.cycle.number < 2'],
    ['autoReplay', 'function (letter) { return true }'],
    ['filter', '{ never: ["({ name }) => true"] }'],
    ['classify', '[{ when: "async error => true", retryable: true }]'],
  ])('R1: a function cannot be in a file: %s: %s', (name, text) => {
    expect(faultsOf(`policies:\n  channels:\n    orders:\n      ${name}: ${text}\n`)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^lazaret.yaml:4: policies.channels.orders.${name}.*; a file cannot contain a function: give it in code$`,
        ),
      ),
    ])
  })

  it('R1: a missing option is named, with the line of its group', () => {
    const text = `policies:
  dispatcher:
    rateLimit: { burst: 5 }
    breaker: { failureRate: { window: 1m } }
    retry: { backoff: { kind: fixd } }
`
    expect(faultsOf(text)).toEqual([
      'lazaret.yaml:3: policies.dispatcher.rateLimit.perSecond: got undefined; give a number above 0 and at most 4000000',
      'lazaret.yaml:4: policies.dispatcher.breaker.failureRate.threshold: got undefined; give a number above 0 and at most 1',
      "lazaret.yaml:5: policies.dispatcher.retry.backoff.kind: got \"fixd\"; give one of 'exponential', 'linear', 'fixed', 'decorrelated', 'tiers'",
    ])
  })

  it('R1: an object in place of a file may have the function', () => {
    const autoReplay = () => true
    expect(
      loadPolicies({ channels: { orders: { autoReplay } } }, { env: {} }).consumer('orders'),
    ).toMatchObject({
      autoReplay,
    })
  })

  it('R1 F7: variables set them as well', () => {
    const env = {
      LAZARET_POLICIES__CHANNELS__ORDERS__EXPIRES_AFTER: '7d',
      LAZARET_POLICIES__CHANNELS__PARCELS__EXPIRES_AFTER__BY_REASON__EXPIRED: '1h',
      LAZARET_POLICIES__DISPATCHER__REPLAY_LIMIT: '9',
      LAZARET_POLICIES__DISPATCHER__FAIL_ON_ERROR_IN: '["job"]',
    }
    const policies = policiesOf(FILE, env)
    expect(policies.consumer('orders')).toMatchObject({ expiresAfterMs: 7 * DAY_MS })
    expect(policies.consumer('parcels')).toMatchObject({
      expiresAfterMs: { byReason: { expired: 3_600_000 } },
    })
    expect(policies.dispatcher()).toMatchObject({ replayLimit: 9, failOnErrorIn: ['job'] })
  })
})
