// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests show how variables are written
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from '../../../test/support/source.ts'
import { checkConfig } from '../check.ts'
import { ConfigError } from '../config-error.ts'
import { configSchema, configSchemaText } from './config-schema.ts'

const validate = new Ajv({
  allErrors: true,
  strict: true,
  allowUnionTypes: true,
  strictRequired: false,
}).compile(configSchema())

/** The places that the schema refuses: of a place and one around it, the inner one. */
function refusedBySchema(text: string): readonly string[] {
  validate(parse(text))
  const places = (validate.errors ?? []).map(({ instancePath, params }) => {
    const { additionalProperty, missingProperty } = params as Readonly<Record<string, string | undefined>>
    const last = additionalProperty ?? missingProperty
    const steps = instancePath.slice(1).replaceAll('/', '.')
    return last === undefined ? steps : [steps, last].filter(step => step !== '').join('.')
  })
  const inner = places.filter(place => !places.some(other => other.startsWith(`${place}.`)))
  return [...new Set(inner)].sort()
}

function refusedByLoader(text: string): readonly string[] {
  try {
    checkConfig(text, 'lazaret.yaml', {})
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const paths = error.faults.map(({ path }) => path.replaceAll(/\[(\d+)\]/g, '.$1'))
    return [...new Set(paths)].sort()
  }
}

/** Every YAML block of a page that is a config file. */
function blocksOf(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, block]) => block!)
}

const EXAMPLES = [
  'deploy/lazaret.yaml',
  'examples/order-service/order-service.yaml',
  'examples/profile-service/profile-service.yaml',
]

/** Valid for the loader, and with every spelling that it allows. */
const VALID = [
  '',
  'policies:\nservice: { anything: [1] }',
  'watch: off\ncleanup: false\nautomaticReplay: "off"',
  'retention: never\nexpireUndecidedAfter: 1h30m\ncaps: { keepStack: "true", maxAttempts: "30" }',
  'server: { port: "${PORT:-4600}", readOnly: "${READ_ONLY:-false}", metricsPrefix: "" }',
  'policies: { channels: { orders: , parcels: { timeout: 20s, retry: } } }',
  'policies: { channels: { orders: { timeoutMs: 20000, expiresAfterMs: { default: 5, byReason: { expired: never } } } } }',
  'policies: { channels: { orders: { expiresAfter: { default: 5d, byChannel: { a: { byReason: { poison: 1w } } } } } } }',
  'policies: { channels: { orders: { breaker: off, poison: { window: 1m }, retryLimit: off, replayLimit: "3" } } }',
  'policies: { channels: { orders: { retry: { backoff: { kind: tiers, tiers: [{ retries: 1, backoff: { kind: fixed, delay: 1s } }] } } } } }',
  'policies: { channels: { orders: { classify: [{ when: ECONNRESET, retryable: true, retryAfter: 1s }] } } }',
  'policies: { defaults: { call: { rateLimit: { perSecond: 5 } } }, calls: { a: { rateLimit: { burst: 2 } } } }',
  'policies: { dispatcher: { critical: { types: ["/^pay/"] }, healthCheck: off, failOnErrorIn: [] } }',
  'notify: { targets: { ops: { type: email, url: "smtp://a:b@c.example", from: a@b.example, to: [c@d.example] } } }',
]

const WRONG = [
  'servr: {}',
  'store: mysql://localhost',
  'retention: soon\nreplay: { perSecond: fast, stages: [0] }',
  'automaticReplay: { batchSize: 10 }',
  'collectors: { rabbit: { queues: [] } }',
  'notify: { targets: { ops: { type: slak } } }',
  'notify: { targets: { ops: { type: slack, url: "https://a.example", secret: x } } }',
  'notify: { targets: { ops: { type: webhook, url: "https://a.example" } } }',
  'server: { tokens: [{ name: a, role: boss, sha256: "12" }], port: 70000 }',
  'watch: { depth: -1, channels: { a: { age: 5 } } }',
  'policies: 5',
  'policies: { preset: test, calls: 5 }',
  'policies: { defaults: { consumer: { timeout: 20, retry: { attempts: 0, backof: {} } } } }',
  'policies: { channels: { orders: { handle: x, schema: y, breaker: { failures: 0 } } } }',
  'policies: { channels: { orders: { handlers: { a: { concurrency: 1.5 } } } } }',
  'policies: { channels: { orders: { retry: { backoff: { kind: fixed, base: 1s } } } } }',
  'policies: { channels: { orders: { retry: { backoff: { kind: fixd } } } } }',
  'policies: { channels: { orders: { breaker: { failureRate: { window: 1m } } } } }',
  'policies: { channels: { orders: { expiresAfter: 30, autoReplay: transient, replayLimit: 0 } } }',
  'policies: { channels: { orders: { expiresAfter: { byReason: { expird: 1d } } } } }',
  'policies: { channels: { orders: { expiresAfterMs: 30d } } }',
  'policies: { dispatcher: { rateLimit: { burst: 1 }, failOnErrorIn: [web], channel: a..b } }',
  'policies: { sinks: { loki: { whenOpen: pause, buffer: { overflow: drop } } } }',
  'policies: { defaults: { call: { rateLimit: { burst: 2 } } } }',
]

describe('the JSON Schema of the config file', () => {
  it('R1: is the published one; if the change is meant, run `npm run schema` and review the diff', () => {
    const { files, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(files).toContain('lazaret.schema.json')
    expect(exports['./lazaret.schema.json']).toBe('./lazaret.schema.json')
    expect(readFileSync(join(ROOT, 'lazaret.schema.json'), 'utf8')).toBe(configSchemaText())
  })

  it.each(EXAMPLES)('R1: accepts %s', file => {
    expect(refusedBySchema(readFileSync(join(ROOT, file), 'utf8'))).toEqual([])
  })

  it('R1: accepts every example of the docs', () => {
    const blocks = blocksOf('docs/reference/config.md')
    expect(blocks.length).toBeGreaterThan(2)
    expect(blocks.map(refusedBySchema)).toEqual(blocks.map(() => []))
  })

  it.each(VALID)('R1: accepts what the loader accepts: %s', text => {
    expect(refusedByLoader(text)).toEqual([])
    expect(refusedBySchema(text)).toEqual([])
  })

  it.each(WRONG)('R1: refuses a wrong file where the loader refuses it: %s', text => {
    const places = refusedByLoader(text)
    expect(places).not.toEqual([])
    expect(refusedBySchema(text)).toEqual(places)
  })

  it('R1: leaves a value from the environment to the loader', () => {
    const text =
      'policies: { preset: "${PRESET}", calls: { a: { timeout: "${T}", retry: { attempts: "${N}" } } } }'
    expect(refusedBySchema(text)).toEqual([])
  })
})
