import fc from 'fast-check'
import { LETTER_HEADERS } from '../../src/adapter-kit/wire/letter-headers.ts'
import { OWN as KAFKA_HEADERS } from '../../src/adapters/kafka/broker/wire/headers.ts'
import { OWN as NATS_HEADERS } from '../../src/adapters/nats/broker/wire/headers.ts'
import { OWN as RABBITMQ_HEADERS } from '../../src/adapters/rabbitmq/broker/wire/headers.ts'
import { REPLAY_HEADERS } from '../../src/core/event/replay-headers.ts'

const OWN_NAMES = [LETTER_HEADERS, KAFKA_HEADERS, NATS_HEADERS, RABBITMQ_HEADERS, REPLAY_HEADERS].flatMap(
  headers => Object.values(headers),
)

/** Names that our readers look for in messages of others, and names that harm careless readers. */
const NAMES = [
  ...[
    'ce_specversion',
    'ce_id',
    'ce_type',
    'ce_source',
    'ce_time',
    'content-type',
    'cloudEvents:specversion',
  ],
  ...['cloudEvents:id', 'cloudEvents:type', 'x-death', 'x-first-death-queue', 'x-idempotency-key'],
  ...['kafka_dlt-exception-fqcn', 'kafka_dlt-original-offset', 'kafka_dlt-original-partition'],
  ...['__connect.errors.topic', '__connect.errors.offset', 'NServiceBus.FailedQ', 'MT-Fault-Message'],
  ...['__proto__', 'constructor', 'toString', ''],
]

const TEXTS = [
  ...['{}', '[]', 'null', '-1', '1e400', '{"v":1}', '{"v":2}', '{"__proto__":{"isAdmin":true}}', '1.0'],
  ...[
    '{"started":1e308,"ended":-1}',
    '{"started":3,"ended":2,"history":[null,1,{"at":"x"}]}',
    '[{"count":-1}]',
  ],
  ...['2026-01-01T00:00:00Z', 'application/json', 'application/cloudevents+json', 'text/plain', 'utf-16'],
  ...['99999999999999999999999999', '\0', '\uD800', '['.repeat(5_000)],
]

export const hostileName = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...OWN_NAMES) },
  { weight: 2, arbitrary: fc.constantFrom(...NAMES) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
)

export const hostileText = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 4 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
)

export const hostileBytes = fc.oneof(
  hostileText.map(text => Buffer.from(text)),
  fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.from(bytes)),
)

/** So many cases in `npm test`, which is to be quick; as many as usual in `npm run fuzz`. */
export function cases(numRuns: number): { readonly numRuns?: number } {
  return process.env['FUZZ_SEED'] === undefined ? { numRuns } : {}
}

export const maybe = <T>(given: fc.Arbitrary<T>) => fc.option(given, { nil: undefined })

/** A valid JSON value with some of its parts replaced, removed or added. */
export function damagedJson(valid: unknown): fc.Arbitrary<unknown> {
  const paths = pathsOf(valid)
  const change = fc.record({
    path: fc.constantFrom(...paths),
    kind: fc.constantFrom('replace', 'remove', 'add'),
    name: hostileName,
    value: fc.oneof(hostileText, fc.jsonValue({ maxDepth: 3 })),
  })
  return fc.array(change, { minLength: 1, maxLength: 4 }).map(changes => {
    let root = structuredClone(valid)
    for (const { path, kind, name, value } of changes) {
      if (path.length === 0) {
        if (kind === 'replace') root = value
        continue
      }
      const parent = path.slice(0, -1).reduce<unknown>((at, step) => (at as Tree | undefined)?.[step], root)
      if (typeof parent !== 'object' || parent === null) continue
      const last = path.at(-1)!
      if (kind === 'replace') set(parent as Tree, last, value)
      else if (kind === 'add') set(parent as Tree, name, value)
      else delete (parent as Tree)[last]
    }
    return root
  })
}

type Tree = Record<string, unknown>

/** An own field, also if it is called `__proto__`, as JSON makes it. */
function set(tree: Tree, name: string, value: unknown): void {
  Object.defineProperty(tree, name, { value, enumerable: true, configurable: true, writable: true })
}

function pathsOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([name, inner]) => pathsOf(inner, [...path, name]))]
}

/** Valid bytes that were cut, changed or lengthened. */
export function damagedBytes(valid: Buffer): fc.Arbitrary<Buffer> {
  const change = fc.record({ at: fc.nat(valid.length - 1), byte: fc.integer({ min: 0, max: 255 }) })
  return fc
    .record({
      changes: fc.array(change, { maxLength: 5 }),
      cutAt: maybe(fc.nat(valid.length)),
      more: hostileBytes,
    })
    .map(({ changes, cutAt, more }) => {
      const bytes = Buffer.concat([valid, more]).subarray(0, cutAt ?? valid.length)
      for (const { at, byte } of changes) if (at < bytes.length) bytes[at] = byte
      return bytes
    })
}
