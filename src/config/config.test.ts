// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in texts are what is tested
import { describe, expect, it } from 'vitest'
import { DEFAULT_CONFIG, parseConfig } from './config.ts'
import { ConfigError } from './config-error.ts'
import type { Env } from './substitute.ts'

const KEY = Buffer.alloc(32, 7).toString('base64')
const parse = (text: string, env: Env = {}) => parseConfig(text, 'lazaret.yaml', env)

function faultsOf(text: string, env: Env = {}): string[] {
  try {
    parse(text, env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
  return []
}

describe('a config file', () => {
  it('F7: is read whole, with the environment put in', () => {
    const config = parse(
      `
store: sqlite:\${DATA:-./data}/lazaret.db
spill: file:./var/spill
masks:
  paths: [payload.card.number]
  names: [national_id]
  patterns: ['AC\\d{4}']
sealing:
  current: k2
  keys: { k1: "\${KEY_1}", k2: "\${KEY_2}" }
caps: { maxAttempts: 5, keepStack: true }
retention: 14d
replay:
  stages: [1, 50, rest]
  perSecond: \${RATE:-20}
  haltRefailRatio: 0.5
  maxAge: 2d
  needsApproval: true
automaticReplay: { cron: '*/15 * * * *', batchSize: 10, maxAge: 6h }
cleanup: { cron: '30 3 * * *' }
server:
  port: '4600'
  basePath: /ops/lazaret/
  stores: { shop: 'sqlite:./shop.db' }
  tokens:
    - { name: ann, role: admin, sha256: ${'a'.repeat(64)} }
    - { name: bob, role: viewer, sha256: ${'b'.repeat(64)} }
  needsApproval: true
  rateLimit: { perSecond: 10 }
  metricsPrefix: shop_
`,
      { DATA: '/var/lib', KEY_1: KEY, KEY_2: KEY },
    )
    expect(config).toMatchObject({
      store: 'sqlite:/var/lib/lazaret.db',
      spill: 'file:./var/spill',
      sealing: { current: 'k2', keys: { k1: KEY, k2: KEY } },
      caps: { maxAttempts: 5, maxCycles: 20, keepStack: true },
      retention: 14 * 86_400_000,
      replay: {
        stages: [1, 50, 'rest'],
        perSecond: 20,
        haltRefailRatio: 0.5,
        maxAge: 2 * 86_400_000,
        needsApproval: true,
      },
      automaticReplay: { cron: '*/15 * * * *', batchSize: 10, maxAge: 6 * 3_600_000 },
      cleanup: { cron: '30 3 * * *' },
      server: {
        port: 4600,
        basePath: '/ops/lazaret',
        stores: { shop: 'sqlite:./shop.db' },
        tokens: [{ name: 'ann', role: 'admin' }, { name: 'bob' }],
        needsApproval: true,
        rateLimit: { perSecond: 10 },
        metricsPrefix: 'shop_',
      },
    })
    expect(config.masks.maskText('account AC1234')).toBe('account ***')
    expect(config.masks.isMaskedName('National-ID')).toBe(true)
  })

  it('E13, K9, E19: without one, cleanup is at 02:00 daily, letters are kept, automatic replay off', () => {
    expect(DEFAULT_CONFIG).toMatchObject({
      cleanup: { cron: '0 2 * * *' },
      retention: undefined,
      expireUndecidedAfter: undefined,
      automaticReplay: undefined,
      store: undefined,
    })
    expect(parse('')).toEqual({ ...DEFAULT_CONFIG, masks: expect.anything() })
  })

  it('K9: never is said, not left out', () => {
    expect(parse('retention: never').retention).toBe('never')
    expect(parse('expireUndecidedAfter: never').expireUndecidedAfter).toBe('never')
    expect(parse('expireUndecidedAfter: 90d').expireUndecidedAfter).toBe(90 * 86_400_000)
    expect(parse('cleanup: off').cleanup).toBeUndefined()
    expect(parse('automaticReplay: off').automaticReplay).toBeUndefined()
  })

  it('F7: every fault is listed at once, each with its line', () => {
    const text = [
      'stroe: sqlite:./x.db',
      'retention: soon',
      'masks:',
      '  paths:',
      '    - payload.card',
      "    - ''",
      '  names: ["--"]',
      '  patterns: ["("]',
      'replay:',
      '  perSecond: fast',
      '  stages: [1, none]',
      'cleanup:',
      "  cron: 'every night'",
      'automaticReplay: {}',
    ].join('\n')
    expect(faultsOf(text)).toEqual([
      `lazaret.yaml:1: stroe: got "sqlite:./x.db"; unknown option, did you mean 'store'?`,
      `lazaret.yaml:2: retention: got "soon"; give a duration above 0 such as '30d', or 'never'`,
      `lazaret.yaml:6: masks.paths[1]: got ""; give a path such as 'payload.card.number' or '**.secret'`,
      `lazaret.yaml:7: masks.names[0]: got "--"; give a property's name, with * for any characters`,
      `lazaret.yaml:8: masks.patterns[0]: got "("; give a regular expression as a text, such as 'AC\\d{8}'`,
      'lazaret.yaml:10: replay.perSecond: got "fast"; give a number above 0 and at most 100000',
      'lazaret.yaml:11: replay.stages[1]: got "none"; give a whole number of at least 1',
      expect.stringContaining('lazaret.yaml:13: cleanup.cron: got "every night"; give the five fields'),
      expect.stringContaining('lazaret.yaml:14: automaticReplay.cron: got undefined; give the five fields'),
    ])
  })

  it('F7: watch.expiringWithin is a duration within its limits, or off', () => {
    expect(parse('watch: { expiringWithin: 36h }').watch).toMatchObject({ expiringWithinMs: 36 * 3_600_000 })
    expect(parse('watch: { expiringWithin: off }').watch).toMatchObject({ expiringWithinMs: 'off' })
    for (const value of ['30s', '366d', 'soon', '-1d', '0'])
      expect(faultsOf(`watch: { expiringWithin: ${value} }`), value).toEqual([
        expect.stringContaining('lazaret.yaml:1: watch.expiringWithin: got '),
      ])
  })

  it('F7: a variable that is not set is a fault of its own line, beside all others', () => {
    expect(faultsOf('store: sqlite:${DB_FILE}\nretention: soon')).toEqual([
      'lazaret.yaml:1: ${DB_FILE}: got a variable that is not set; set it, or write ${DB_FILE:-default}',
      expect.stringContaining('lazaret.yaml:2: retention'),
    ])
  })

  it('F7: values out of the environment, keys and tokens are never shown', () => {
    const secrets = { SECRET: 'hunter2hunter2' }
    const text = [
      'store: ${SECRET}',
      'sealing:',
      '  current: k9',
      '  keys:',
      '    k1: plainly-typed-key',
      '    k2: ${SECRET}',
      'replay: { perSecond: "${SECRET}" }',
    ].join('\n')
    const faults = faultsOf(text, secrets)
    expect(faults).toHaveLength(4)
    expect(faults.join('\n')).not.toMatch(/hunter2|plainly/)
    expect(faults[0]).toContain('lazaret.yaml:1: store: got a hidden value')
    expect(faultsOf('store: sqllite://user:pass@host/x').join()).not.toContain('pass')
  })

  it('F7: an error names the line of a wrong server option and never shows a token', () => {
    const text = [
      'server:',
      '  port: 70000',
      '  tokens:',
      '    - { name: ann, role: boss, sha256: hunter2hunter2 }',
      '  readonly: true',
    ].join('\n')
    const faults = faultsOf(text)
    expect(faults).toEqual([
      'lazaret.yaml:2: server.port: got 70000; give a whole number from 0 to 65535',
      expect.stringContaining('lazaret.yaml:4: server.tokens[0].role: got a hidden value; give one of'),
      expect.stringContaining('lazaret.yaml:4: server.tokens[0].sha256: got a hidden value; give the'),
      expect.stringContaining(
        "lazaret.yaml:5: server.readonly: got true; unknown option, did you mean 'readOnly'?",
      ),
    ])
    expect(faultsOf('server: { needsApproval: true }')[0]).toContain('at least two tokens')
  })

  it('F7: collectors are read, and their URLs never shown', () => {
    const text = [
      'collectors:',
      '  shop:',
      '    url: amqp://guest:hunter2@rabbitmq/shop',
      '    management: http://rabbitmq:15672',
      '    queues: ["*.dlq", billing_error]',
      '    pollInterval: 10s',
    ]
    expect(parse(text.join('\n')).collectors).toMatchObject({
      shop: { queues: ['*.dlq', 'billing_error'], pollInterval: 10_000, mode: undefined },
    })
    const wrong = [...text.slice(0, 2), '    url: amqp:hunter2', '    queues: ["*.dlq"]', '    mode: both']
    const faults = faultsOf(wrong.join('\n'))
    expect(faults).toEqual([
      expect.stringContaining('lazaret.yaml:3: collectors.shop.url: got a hidden value; give a URL'),
      expect.stringContaining('lazaret.yaml:5: collectors.shop.mode: got "both"; give one of'),
    ])
    expect(faultsOf([...text.slice(0, 3), ...text.slice(4)].join('\n'))[0]).toContain(
      "which lists the queues that match '*.dlq'",
    )
  })

  it('F7, B20: a collector of Kafka has topics, and one of RabbitMQ has queues', () => {
    const of = (...lines: string[]) =>
      ['collectors:', '  shop:', ...lines.map(line => `    ${line}`)].join('\n')
    const topics = ['url: kafka://one:9092,two:9092', 'topics: ["*.DLT"]']
    expect(parse(of(...topics, 'originalTopics: { failed: orders }')).collectors).toMatchObject({
      shop: { topics: ['*.DLT'], originalTopics: { failed: 'orders' }, queues: undefined },
    })
    expect(faultsOf(of('url: kafka://one'))[0]).toContain('give the dead-letter topics')
    expect(faultsOf(of('url: amqp://one'))[0]).toContain('give the dead-letter queues')
    expect(faultsOf(of(...topics, 'mode: peek'))[0]).toContain('collectors of Kafka do not have it')
    expect(faultsOf(of('url: amqp://one', 'queues: [a]', 'group: g'))[0]).toContain(
      'collectors of RabbitMQ do not have it',
    )
  })

  it('F7, B18: brokers are read, also from the environment, and their URLs never shown', () => {
    const text = [
      'brokers:',
      '  rabbitmq: { url: "${AMQP_URL}" }',
      '  outbox: { url: "postgres://db/shop" }',
      '  streams: { url: "redis://cache", prefix: shop }',
      '  kafka: { url: "kafkas://u:hunter2@one:9092,two:9092?sasl=plain" }',
    ].join('\n')
    expect(parse(text, { AMQP_URL: 'amqp://guest:hunter2@rabbitmq/shop' }).brokers).toEqual({
      rabbitmq: { url: 'amqp://guest:hunter2@rabbitmq/shop', prefix: undefined },
      outbox: { url: 'postgres://db/shop', prefix: undefined },
      streams: { url: 'redis://cache', prefix: 'shop' },
      kafka: { url: 'kafkas://u:hunter2@one:9092,two:9092?sasl=plain', prefix: undefined },
    })
    const wrong = [
      'brokers:',
      '  rabbitmq: { url: "amqp:hunter2" }',
      '  other: { url: "kafka://u:hunter2@host?sasl=none" }',
      '  outbox: { url: "postgres://db/shop", prefix: shop }',
    ]
    const faults = faultsOf(wrong.join('\n'))
    expect(faults).toEqual([
      expect.stringContaining('lazaret.yaml:2: brokers.rabbitmq.url: got a hidden value; give a URL such as'),
      expect.stringContaining('lazaret.yaml:3: brokers.other.url: got a hidden value; give a URL such as'),
      expect.stringContaining('lazaret.yaml:4: brokers.outbox.prefix: got "shop"; remove it'),
    ])
    expect(faults.join()).not.toContain('hunter2')
  })

  it('F7: whom to notify is read, and no secret of a target shown', () => {
    const text = [
      'notify:',
      '  service: shop',
      '  repeat: 10m',
      '  targets:',
      '    ops: { type: slack, url: "${SLACK_URL}" }',
      '    pager: { type: pagerduty, routingKey: R0123456789abcdefghijklmnopqrstu, atLeast: critical }',
      '    mail: { type: email, url: "smtp://alerts:hunter2@mail", from: a@shop.example, to: b@shop.example }',
    ]
    expect(parse(text.join('\n'), { SLACK_URL: 'https://hooks.slack.com/services/x' }).notify).toMatchObject({
      service: 'shop',
      repeat: 600_000,
      targets: { pager: { atLeast: 'critical' }, mail: { to: ['b@shop.example'] } },
    })
    const wrong = [
      'notify:',
      '  targets:',
      '    ops: { type: slack, url: hunter2 }',
      '    pager: { type: pagerduty, routingKey: hunter2, atLeast: worst }',
      '    chat: { type: teams }',
      '    hook: { type: webhook, url: "https://hook.example", secret: "", kind: [digest] }',
    ]
    const faults = faultsOf(wrong.join('\n'))
    expect(faults.map(fault => fault.split(': got')[0])).toEqual([
      'lazaret.yaml:3: notify.targets.ops.url',
      'lazaret.yaml:4: notify.targets.pager.atLeast',
      'lazaret.yaml:4: notify.targets.pager.routingKey',
      'lazaret.yaml:5: notify.targets.chat.type',
      'lazaret.yaml:6: notify.targets.hook.kind',
      'lazaret.yaml:6: notify.targets.hook.secret',
    ])
    expect(faults.join()).not.toContain('hunter2')
    expect(faultsOf('notify: { targets: {} }')[0]).toContain('give at least one target')
  })

  it('F7: a server with names that others reach it by needs tokens', () => {
    expect(faultsOf('server:\n  allowedHosts: [dlq.example.com]')).toEqual([
      'lazaret.yaml:2: server.allowedHosts: got an array of 1; give tokens as well, because without tokens everyone is admin, or leave allowedHosts out',
    ])
  })

  it('F7: the key to write with is one of those given', () => {
    const text = `sealing:\n  current: k2\n  keys: { k1: "${KEY}" }`
    expect(faultsOf(text)).toEqual([
      'lazaret.yaml:2: sealing.current: got "k2"; give the ID of one of the keys: k1',
    ])
  })

  it('F7: an error names the line of invalid YAML', () => {
    expect(faultsOf('store: a\nreplay: [1, 2')[0]).toMatch(/^lazaret\.yaml:2: yaml: got invalid YAML; /)
    expect(faultsOf('store: file:a\nstore: file:b')[0]).toContain('lazaret.yaml:2: yaml: got invalid YAML')
    expect(faultsOf('- just\n- a list')[0]).toContain('lazaret.yaml:1: the file: got an array of 2')
  })

  it('F7: aliases that multiply are refused, not unfolded', () => {
    const layers = Array.from({ length: 9 }, (_, n) => `  l${n + 1}: &l${n + 1} [${`*l${n},`.repeat(9)}]`)
    expect(faultsOf(`server:\n  l0: &l0 [x]\n${layers.join('\n')}`)[0]).toContain('alias')
  })
})

describe('the watch section', () => {
  it('K7: has durations and limits, or is off', () => {
    expect(parse('watch: { every: 30s, depth: "250", age: 1h, dominance: 0.8, keep: 2d }').watch).toEqual({
      everyMs: 30_000,
      depth: 250,
      ageMs: 3_600_000,
      dominance: 0.8,
      keepMs: 172_800_000,
    })
    expect(parse('watch: off').watch).toBe('off')
    expect(DEFAULT_CONFIG.watch).toEqual({})
  })

  it('R11: has limits of single channels, each fault with its channel', () => {
    const { watch } = parse(
      'watch: { depth: 50, channels: { orders: { depth: "5", age: 5m, ratePerHour: 20 } } }',
    )
    expect(watch).toMatchObject({
      depth: 50,
      channels: { orders: { depth: 5, ageMs: 300_000, ratePerHour: 20 } },
    })
    expect(
      faultsOf('watch:\n  channels:\n    orders: { dominance: 50 }\n    mails: { dept: 5, age: soon }'),
    ).toEqual([
      expect.stringContaining('watch.channels.orders.dominance: got 50; give a number from 0 to 1'),
      expect.stringContaining("watch.channels.mails.dept: got 5; unknown option, did you mean 'depth'?"),
      expect.stringContaining('watch.channels.mails.age'),
    ])
  })

  it('K7: tells what cannot be meant, with its line', () => {
    expect(faultsOf('watch:\n  every: 10ms\n  keep: 1s')).toEqual([
      expect.stringContaining('lazaret.yaml:2: watch.every: got 10; give a duration from 1s up to 1d'),
      expect.stringContaining('lazaret.yaml:3: watch.keep'),
    ])
    expect(faultsOf('watch: { dominance: 50 }')).toEqual([
      expect.stringContaining('give a number from 0 to 1'),
    ])
  })
})
