// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests show how variables are written
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { memoryBroker, memoryDeadLetters } from '../../adapters/memory/index.ts'
import { RETRY_LIMIT_PRESETS } from '../../core/limit/options.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { createDispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import { resilient } from '../../runtime/resilient/resilient.ts'
import { checkConfig } from '../check.ts'
import { ConfigError } from '../config-error.ts'
import { loadPolicies } from './load-policies.ts'

const folder = mkdtempSync(join(tmpdir(), 'lazaret-policies-'))
afterEach(() => rmSync(join(folder, 'lazaret.yaml'), { force: true }))

function file(text: string): string {
  const path = join(folder, 'lazaret.yaml')
  writeFileSync(path, text)
  return path
}

const NOTHING = { env: {} }

function faultsOf(load: () => unknown): readonly string[] {
  try {
    load()
  } catch (error) {
    if (error instanceof ConfigError) return error.message.replaceAll(`${folder}/`, '').split('\n')
    throw error
  }
  return []
}

/** Without the source that options from a file carry under a symbol. */
function plain(options: object): object {
  return Object.fromEntries(Object.entries(options))
}

const FILE = `
store: sqlite:\${NOT_SET_HERE}/lazaret.db
policies:
  preset: staging
  defaults:
    consumer: { timeout: 20s, retry: { attempts: 8, backoff: { kind: exponential, base: 1s, max: 1m } } }
    call: { timeout: 2s }
  channels:
    orders:
      concurrency: \${CONCURRENCY:-4}
      ordering: by-key
      retry: { attempts: 3 }
      breaker: { failures: 10, open: 45s }
      poison: off
      budget: { ratio: 0.1, window: 30s }
      filter: { never: ['health.*', '/^debug\\./i'] }
      metadata: { team: shop, tags: [a, 1] }
      handlers:
        billing: { timeout: 1m, metadata: { team: billing }, breaker: { failures: 2 } }
  dispatcher:
    rateLimit: { perSecond: 1000, bypass: { types: [order.paid] } }
    retry: { attempts: 2 }
    grace: 5s
  sinks:
    loki: { whenOpen: wait, retry: { backoff: { kind: fixed, delay: 500ms } } }
  calls:
    fetch-profile: { retry: { attempts: 3 } }
`

describe('policies from a file', () => {
  it('R1: a channel has the defaults under its own options, a handler those of its channel', () => {
    const policies = loadPolicies(file(FILE), NOTHING)
    const orders = {
      channel: 'orders',
      timeoutMs: 20_000,
      concurrency: 4,
      ordering: 'by-key',
      retry: { attempts: 3, backoff: { kind: 'exponential', baseMs: 1_000, maxMs: 60_000 } },
      breaker: { failures: 10, openMs: 45_000 },
      poison: 'off',
      budget: { ratio: 0.1, windowMs: 30_000 },
      filter: { never: ['health.*', /^debug\./i] },
      metadata: { team: 'shop', tags: ['a', 1] },
      retryLimit: RETRY_LIMIT_PRESETS.staging,
    }
    expect(plain(policies.consumer('orders'))).toEqual(orders)
    expect(plain(policies.consumer('orders', 'billing'))).toEqual({
      ...orders,
      name: 'billing',
      timeoutMs: 60_000,
      metadata: { team: 'billing', tags: ['a', 1] },
      breaker: { failures: 2, openMs: 45_000 },
    })
    expect(policies.consumer('parcels')).toMatchObject({ channel: 'parcels', timeoutMs: 20_000 })
    expect(policies.consumer('parcels').retry).toMatchObject({ attempts: 8 })
  })

  it('R1: sinks and calls have what holds for all of them under their own options', () => {
    const policies = loadPolicies(file(FILE), NOTHING)
    const loki = { whenOpen: 'wait', retry: { backoff: { kind: 'fixed', delayMs: 500 } } }
    expect(plain(policies.dispatcher())).toEqual({
      rateLimit: { perSecond: 1_000, bypass: { types: ['order.paid'] } },
      retry: { attempts: 2 },
      graceMs: 5_000,
      retryLimit: RETRY_LIMIT_PRESETS.staging,
      overrides: { loki },
    })
    expect(policies.sink('loki')).toEqual({
      whenOpen: 'wait',
      retry: { attempts: 2, backoff: { kind: 'fixed', delayMs: 500 } },
      retryLimit: RETRY_LIMIT_PRESETS.staging,
    })
    expect(plain(policies.call('fetch-profile'))).toEqual({
      name: 'fetch-profile',
      timeoutMs: 2_000,
      retry: { attempts: 3 },
      retryLimit: RETRY_LIMIT_PRESETS.staging,
    })
    expect(plain(policies.call('other'))).toEqual({ name: 'other', timeoutMs: 2_000 })
  })

  it('R1: the options are spread into consumers, dispatchers and calls', async () => {
    const policies = loadPolicies(file(FILE), NOTHING)
    const sinks = { loki: { write: async () => {} } }
    const consumer = createConsumer({
      ...policies.consumer('orders'),
      broker: memoryBroker(),
      handle: () => {},
    })
    const dispatcher = createDispatcher({
      ...policies.dispatcher(),
      sinks,
      deadLetters: memoryDeadLetters(),
    })
    const call = resilient(async () => 'done', policies.call('fetch-profile'))
    expect(await call()).toBe('done')
    expect(consumer.health()).toMatchObject({ channel: 'orders' })
    await dispatcher.close()
    await consumer.close()
  })

  it('R1: every fault is reported at once, with file, line and remedy', () => {
    const load = () =>
      loadPolicies(
        file(`
servr: {}
policies:
  preset: test
  defaults:
    consumer:
      timeout: 20
      retry: { attempts: 0, backof: {} }
  channels:
    order.events:
      breaker:
        failures: \${SECRET}
      handle: nobody
  dispatcher: { rateLimit: { perSecond: -1 } }
  sinks:
    loki: { retry: { backoff: { kind: fixed, base: 1s } } }
  calls: 5
`),
        { env: { SECRET: 'hunter2' } },
      )
    expect(faultsOf(load)).toEqual([
      "lazaret.yaml:2: servr: got an unknown key; did you mean 'server'?",
      "lazaret.yaml:4: policies.preset: got \"test\"; give one of 'production', 'staging', 'development'",
      "lazaret.yaml:7: policies.defaults.consumer.timeout: got 20; give a duration from 1ms to 1d such as '30s'",
      "lazaret.yaml:8: policies.defaults.consumer.retry.backof: got an object; unknown option, did you mean 'backoff'?",
      'lazaret.yaml:8: policies.defaults.consumer.retry.attempts: got 0; give a whole number of at least 1',
      "lazaret.yaml:12: policies.channels.order.events.breaker.failures: got a hidden value; give a whole number of at least 1, or 'off'",
      'lazaret.yaml:13: policies.channels.order.events.handle: got "nobody"; a file cannot set it: give it in code',
      'lazaret.yaml:14: policies.dispatcher.rateLimit.perSecond: got -1; give a number above 0 and at most 4000000',
      'lazaret.yaml:16: policies.sinks.loki.retry.backoff.base: got "1s"; unknown option, remove it; known options are kind, delay, jitter',
      'lazaret.yaml:17: policies.calls: got 5; give a map of names to options',
    ])
  })

  it('R1: options of one part that contradict those of another are a fault of the more specific part', () => {
    const load = () =>
      loadPolicies(
        file(`
policies:
  defaults: { consumer: { breaker: { open: 40s } } }
  channels:
    orders: { breaker: { openMax: 20s } }
    parcels: { prefetch: 5, handlers: { slow: { prefetch: 20, concurrency: 30 } } }
`),
        NOTHING,
      )
    expect(faultsOf(load)).toEqual([
      'lazaret.yaml:5: policies.channels.orders.breaker.openMax: got 20000; give at least openMs (40000), or leave it out',
      'lazaret.yaml:6: policies.channels.parcels.prefetch: got 5; give at least the concurrency (10), or handlers stay idle',
      'lazaret.yaml:6: policies.channels.parcels.handlers.slow.prefetch: got 20; give at least the concurrency (30), or handlers stay idle',
    ])
  })

  it('R1: milliseconds may be given under the name that they have in code, but not twice', () => {
    const policies = loadPolicies({ calls: { a: { timeoutMs: 1_500 }, b: { timeoutMs: '1500' } } }, NOTHING)
    expect([policies.call('a').timeoutMs, policies.call('b').timeoutMs]).toEqual([1_500, 1_500])
    const load = () => loadPolicies({ calls: { a: { timeout: '2s', timeoutMs: 1_500 } } }, NOTHING)
    expect(faultsOf(load)).toEqual([
      'policies.calls.a.timeoutMs: got 1500; give timeout or timeoutMs, not both',
    ])
  })

  it.each(['production', 'staging', 'development'] as const)(
    'E4 R1: the preset %s is known by its name',
    preset => {
      const policies = loadPolicies({ preset, channels: { slow: { retryLimit: { perSecond: 5 } } } }, NOTHING)
      expect(policies.consumer('orders').retryLimit).toEqual(RETRY_LIMIT_PRESETS[preset])
      expect(policies.dispatcher().retryLimit).toEqual(RETRY_LIMIT_PRESETS[preset])
      expect(policies.consumer('slow').retryLimit).toEqual({ ...RETRY_LIMIT_PRESETS[preset], perSecond: 5 })
    },
  )
})

describe('policies from elsewhere', () => {
  it('F7 R1: variables take precedence over the file, and find names without regard to case and punctuation', () => {
    const env = {
      LAZARET_POLICIES__PRESET: 'production',
      LAZARET_POLICIES__CHANNELS__ORDERS__TIMEOUT: '7s',
      LAZARET_POLICIES__CHANNELS__ORDERS__RETRY__ATTEMPTS: '9',
      LAZARET_POLICIES__CALLS__FETCH_PROFILE__TIMEOUT: '1s',
      LAZARET_POLICIES__DISPATCHER__FILTER__NEVER: '["debug.*"]',
      LAZARET_POLICIES__DEFAULTS__CONSUMER__RETRY__BACKOFF: '{"kind":"fixed","delay":"2s"}',
    }
    const policies = loadPolicies(file(FILE), { env })
    expect(policies.consumer('orders')).toMatchObject({
      timeoutMs: 7_000,
      retry: { attempts: 9, backoff: { kind: 'fixed', delayMs: 2_000 } },
      retryLimit: RETRY_LIMIT_PRESETS.production,
    })
    expect(policies.call('fetch-profile')).toMatchObject({ timeoutMs: 1_000, retry: { attempts: 3 } })
    expect(policies.dispatcher().filter).toEqual({ never: ['debug.*'] })
    expect(loadPolicies({}, { env }).consumer('orders')).toMatchObject({ timeoutMs: 7_000 })
  })

  it('F7 R1: a fault of a variable names the variable and hides its value', () => {
    const env = {
      LAZARET_POLICIES__CHANNELS__ORDERS__TIMEOUT: 'hunter2',
      LAZARET_POLICIES__CHANNEL__ORDERS__TIMEOUT: '1s',
      LAZARET_POLICIES__CHANNELS__ORDERS__RETRY__ATEMPTS: '2',
      LAZARET_POLICIES__CHANNELS__ORDERS__TIMEOUT__MS: '2',
      LAZARET_POLICIES__CHANNELS__ORDERS__RETRY__BACKOFF__KIND: 'fixed',
      LAZARET_POLICIES__CHANNELS____TIMEOUT: '2s',
      LAZARET_POLICIES__PRESETS: 'production',
      LAZARET_POLICIES__X: '1',
      LAZARET_POLICIES__SINKS: '{',
    }
    expect(faultsOf(() => loadPolicies(file(FILE), { env }))).toEqual([
      "LAZARET_POLICIES__CHANNELS__ORDERS__RETRY__ATEMPTS: got a variable that names no option; correct its name; 'ATEMPTS' may be meant as 'attempts'",
      "LAZARET_POLICIES__CHANNELS__ORDERS__RETRY__BACKOFF__KIND: got a variable that names no option; correct its name; remove 'KIND', and give the whole option before it as JSON",
      "LAZARET_POLICIES__CHANNELS__ORDERS__TIMEOUT__MS: got a variable that names no option; correct its name; remove 'MS', because the option before it has no parts",
      'LAZARET_POLICIES__CHANNELS____TIMEOUT: got a variable that names no option; correct its name; one of its parts is empty',
      "LAZARET_POLICIES__CHANNEL__ORDERS__TIMEOUT: got a variable that names no option; correct its name; 'CHANNEL' may be meant as 'channels'",
      "LAZARET_POLICIES__PRESETS: got a variable that names no option; correct its name; 'PRESETS' may be meant as 'preset'",
      'LAZARET_POLICIES__SINKS: got a hidden value; give valid JSON for a list or a map',
      "LAZARET_POLICIES__X: got a variable that names no option; correct its name; known in place of 'X' are preset, defaults, channels, dispatcher, sinks, calls",
      "LAZARET_POLICIES__CHANNELS__ORDERS__TIMEOUT: got a hidden value; give a duration from 1ms to 1d such as '30s'",
    ])
  })

  it('F7: variables are substituted in the sections of the service alone', () => {
    const load = (text: string) => () => loadPolicies(file(text), NOTHING)
    expect(faultsOf(load(FILE))).toEqual([])
    expect(faultsOf(load('policies: { calls: { a: { timeout: "${TIMEOUT}" } } }'))).toEqual([
      'lazaret.yaml:1: ${TIMEOUT}: got a variable that is not set; set it, or write ${TIMEOUT:-default}',
    ])
    expect(faultsOf(() => loadPolicies({ calls: { a: { timeout: '${TIMEOUT}' } } }, NOTHING))).toEqual([
      'policies.calls.a.timeout: got ${TIMEOUT}, a variable that is not set; set it, or write ${TIMEOUT:-default}',
    ])
  })

  it('R1: an object may hold values of code, such as backoffs', async () => {
    const { exponential } = await import('../../core/retry/exponential.ts')
    const backoff = exponential({ baseMs: 5 })
    const policies = loadPolicies({ channels: { orders: { retry: { backoff } } } }, NOTHING)
    expect(policies.consumer('orders').retry?.backoff).toStrictEqual(backoff)
  })

  it('R1: settings of the service are checked by its schema, and reported with the policies', () => {
    const service = z.object({ port: z.coerce.number().int(), url: z.url('give a URL') })
    const text = 'service:\n  port: ${PORT:-80}\n  url: http://localhost\n'
    expect(loadPolicies(file(text), { ...NOTHING, service }).service).toEqual({
      port: 80,
      url: 'http://localhost',
    })
    const wrong = 'service:\n  port: 80\n  url: secret\npolicies:\n  sink: {}\n'
    expect(faultsOf(() => loadPolicies(file(wrong), { ...NOTHING, service }))).toEqual([
      'lazaret.yaml:3: service.url: got a hidden value; give a URL',
      "lazaret.yaml:5: policies.sink: got an object; unknown option, did you mean 'sinks'?",
    ])
  })

  it.each([
    ['hello', '"hello"'],
    ['- a\n- b', 'an array of 2'],
    ['5', '5'],
  ])('F7: a file that is not a map, such as %j, is one fault', (text, received) => {
    const remedy = /give a plain object with store, .*, policies, service$/
    for (const check of [
      () => loadPolicies(file(text), NOTHING),
      () => checkConfig(text, 'lazaret.yaml', {}),
    ]) {
      const faults = faultsOf(check)
      expect(faults).toEqual([expect.stringMatching(remedy)])
      expect(faults[0]).toContain(`lazaret.yaml:1: the file: got ${received}; `)
    }
  })

  it('F7: a named file must exist', () => {
    expect(() => loadPolicies(join(folder, 'gone.yaml'), NOTHING)).toThrow(
      'gone.yaml: config file not found; give the path of an existing file',
    )
  })
})
