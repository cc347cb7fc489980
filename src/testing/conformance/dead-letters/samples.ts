import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { LETTER_STATES } from '../../../core/dead-letter/state.ts'
import { PermanentError } from '../../../core/failure/signals.ts'
import type { Random } from '../../../core/random.ts'
import type { LetterWorld } from './suite.ts'

const REASONS = ['attempts_exhausted', 'permanent', 'poison', 'rate_limited'] as const
const TYPES = ['order.placed', 'order.100%', 'Order_Cancelled']
const ERRORS = [
  new TypeError("cannot read 'id' of undefined"),
  new PermanentError('no such customer: 50% off_'),
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  Object.assign(new Error('žluťoučký "kůň" \\ zpráva'), { code: 'E_KŮŇ' }),
]

const PAYLOADS = [
  { customer: { id: 7, name: 'Ada and Eve' }, items: [{ sku: 'A-1' }, { sku: 'b-2' }], tags: ['vip'] },
  { customer: { id: '7' }, items: [], 'a.b': true },
  { customer: { id: 70, name: null } },
  ['A-1', { sku: 'A-1' }],
  new Uint8Array([1, 2, 3]),
  'text',
  null,
]

/** Letters of every kind that a filter can select, many with the same time. */
export function assortedLetters(world: LetterWorld, count: number, random: Random): DeadLetter[] {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const start = world.timing.now()
  return Array.from({ length: count }, () => {
    const at = start - pick([0, 0, 1, 2, 1_000]) * Math.floor(random() * 5)
    const channel = pick([world.channel, `${world.channel}-other`])
    const key = pick([undefined, 'customer-1', 'Customer_2'])
    const letter = world.letterAt(at, {
      event: world.make.event({
        ...{ channel, key, type: pick(TYPES) },
        headers: pick<Record<string, string>>([{}, { Tenant: 'acme' }, { tenant: 'Söhne, "and" co' }]),
        payload: pick(PAYLOADS),
      }),
      attemptCount: pick([undefined, 1, 4, 12]),
      release: pick([undefined, '2.4.0', '2.4.1']),
      handler: pick(['bill', 'ship']),
      reason: pick(REASONS),
      error: pick(ERRORS),
      metadata: pick([undefined, { tenant: 'Acme & Söhne', tier: 42_001 }]),
    })
    return { ...letter, state: pick(LETTER_STATES) }
  })
}

/** A letter with every optional field. */
export function fullLetter(world: LetterWorld): DeadLetter {
  const event = world.make.event({
    channel: world.channel,
    key: 'customer-1',
    idempotencyKey: 'charge-1',
    expiresAt: world.timing.now() + 1_000,
    source: '/shop',
    headers: { 'x-trace': 'a b' },
    payload: { text: 'žluťoučký 🐎', deep: [{ a: null }] },
  })
  return world.make.letter({
    event,
    reason: 'rate_limited',
    attempts: [world.make.attempt(1, { delayMs: 100 }), world.make.attempt(2)],
    attemptCount: 7,
    origin: { broker: 'rabbitmq', queue: 'orders', offset: '9007199254740993', partition: 3 },
    replay: 2,
    replayId: 'replay-1',
    replayedBy: 'ada',
    expiresAfterMs: 3_600_000,
    autoReplay: true,
    ordering: 'by-key',
    detail: { limit: 1_000, list: [1, 'two', null] },
    metadata: { tenant: 'acme', tags: ['a', null], nested: { level: 2 } },
    job: 'nightly',
    release: '1.2.3',
    host: 'web-1',
  })
}
