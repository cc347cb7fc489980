import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromCloudEvent } from '../event/cloudevents.ts'
import type { LazaretEvent } from '../event/event.ts'
import { createIdSource } from '../event/uuid.ts'
import type { Failure } from '../failure/failure.ts'
import { capText, keepFirstAndLatest, resolveLetterCaps } from './caps.ts'
import { createLetter, summariseFailure } from './create.ts'
import { letterId } from './identity.ts'
import type { AttemptRecord } from './letter.ts'

const event: LazaretEvent = {
  v: 1,
  id: '018bcfe5-6800-7000-8000-000000000000',
  type: 'order.paid',
  channel: 'orders',
  idempotencyKey: 'e1',
  occurredAt: 1,
  headers: {},
  payload: { total: 1 },
}
const failure: Failure = {
  name: 'TypeError',
  message: 'no total',
  code: 'E_TOTAL',
  category: 'business',
  retryable: false,
  decidedBy: 'error-itself',
  retryAfterMs: undefined,
  fingerprint: { id: 'f1', rule: 'message', version: 1, basis: 'TypeError no total' },
  stack: 'TypeError: no total\n    at pay (pay.ts:1:1)',
}
const attempt = (number: number): AttemptRecord => ({
  number,
  startedAt: number * 10,
  endedAt: number * 10 + 5,
  failure: summariseFailure(failure),
  delayMs: 100,
})

describe('createLetter', () => {
  it('P2: keeps the event, its origin, reason, category, error, attempts and times', () => {
    const attempts = [attempt(1), attempt(2)]
    const origin = { broker: 'rabbitmq', queue: 'orders', offset: '9007199254740993' }
    const letter = createLetter({
      event,
      handler: 'mailer',
      reason: 'permanent',
      at: 40,
      failure,
      attempts,
      origin,
    })
    expect(letter).toMatchObject({
      channel: 'orders',
      handler: 'mailer',
      origin,
      state: 'dead',
      createdAt: 40,
    })
    expect(letter.event).toBe(event)
    expect(letter.cycle).toStrictEqual({
      number: 0,
      reason: 'permanent',
      category: 'business',
      failure: {
        name: 'TypeError',
        message: 'no total',
        code: 'E_TOTAL',
        category: 'business',
        stack: undefined,
        fingerprint: failure.fingerprint,
      },
      attempts,
      attemptCount: 2,
      firstFailedAt: 15,
      lastFailedAt: 25,
      replayId: undefined,
      replayedBy: undefined,
      endedAt: undefined,
    })
  })

  it('E14: an event that was never tried keeps the limit and the time, and the category of its reason', () => {
    const detail = { limitPerSecond: 1_000, limitedAt: 40 }
    const letter = createLetter({ event, handler: 'loki', reason: 'rate_limited', at: 40, detail })
    expect(letter).toMatchObject({
      detail,
      cycle: { category: 'transient', firstFailedAt: 40, attempts: [] },
    })
  })

  it('P2: the stack is off by default and capped when asked for', () => {
    const caps = resolveLetterCaps({ keepStack: true, maxStackBytes: 20 })
    const input = { event, handler: 'mailer', reason: 'permanent', at: 1, failure } as const
    expect(createLetter(input, { caps }).cycle.failure?.stack).toBe('TypeError: no tot…')
    expect(JSON.stringify(createLetter(input))).not.toContain('pay.ts')
  })

  it('K5/K8: starts quarantined when it is poison, parked when it was replayed too often', () => {
    const state = (reason: 'poison' | 'permanent', replay: number) =>
      createLetter({ event, handler: 'mailer', reason, at: 1, replay }).state
    expect([state('poison', 0), state('permanent', 2), state('permanent', 3)]).toEqual([
      'quarantined',
      'dead',
      'parked',
    ])
  })

  it('P2: keeps the first and the latest attempts, and says how many there were', () => {
    const attempts = Array.from({ length: 100 }, (_, index) => attempt(index + 1))
    const { cycle } = createLetter({
      event,
      handler: 'mailer',
      reason: 'attempts_exhausted',
      at: 1,
      attempts,
    })
    expect(cycle.attempts.map(each => each.number)).toEqual([
      1,
      ...Array.from({ length: 19 }, (_, i) => 82 + i),
    ])
    expect(cycle).toMatchObject({ attemptCount: 100, firstFailedAt: 15 })
  })
})

describe('caps', () => {
  it('P2: a capped text fits, is a beginning of the text, and is capped only once', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 60 }),
        fc.integer({ min: 16, max: 60 }),
        (text, maxBytes) => {
          const capped = capText(text, maxBytes)
          expect(new TextEncoder().encode(capped).length).toBeLessThanOrEqual(maxBytes)
          expect(capped === text || (capped.endsWith('…') && text.startsWith(capped.slice(0, -1)))).toBe(true)
          expect(capText(capped, maxBytes)).toBe(capped)
        },
      ),
    )
  })

  it('P2: the first and the latest are kept', () => {
    expect(keepFirstAndLatest([1, 2, 3, 4, 5], 3)).toEqual([1, 4, 5])
    expect(keepFirstAndLatest([1, 2, 3], 3)).toEqual([1, 2, 3])
  })
})

describe('letterId', () => {
  const text = fc.string({ maxLength: 6 })

  it('E9: is one id per channel, handler and event id, whatever they contain', () => {
    const identity = fc.tuple(text, text, text)
    fc.assert(
      fc.property(identity, identity, (a, b) => {
        const id = ([channel, handler, eventId]: typeof a) => letterId(channel, handler, { id: eventId })
        expect(id(a) === id(b)).toBe(JSON.stringify(a) === JSON.stringify(b))
        expect(id(a)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      }),
    )
  })

  it('E9: foreign CloudEvents of two sources with one id have two letters, each always the same', () => {
    const from = (source: string) =>
      fromCloudEvent(
        { specversion: '1.0', id: '7', source, type: 'order.placed', data: {} },
        { channel: 'orders', occurredAt: 1 },
      )
    const [eu, us, euAgain] = ['/shop/eu', '/shop/us', '/shop/eu'].map(source =>
      letterId('orders', 'mailer', from(source)),
    )
    expect(eu).not.toBe(us)
    expect(euAgain).toBe(eu)
  })

  it('E9: the source of an event of our own is not part of it: a program may move', () => {
    const [before, after] = ['shop-1', 'shop-2'].map(source =>
      letterId('orders', 'mailer', { ...event, source }),
    )
    expect(after).toBe(before)
  })

  it('E10: begins with the time of an event id that tells one, so that letters sort by it', () => {
    expect(letterId('orders', 'mailer', event).slice(0, 13)).toBe(event.id.slice(0, 13))
    const newId = createIdSource(() => 0.5)
    const ids = [1, 2, 300, 1_700_000_000_000].map(now => letterId('c', 'h', { id: newId(now) }))
    expect(ids.toSorted()).toEqual(ids)
  })

  it('E9: does not depend on when a delivery says that its event occurred', () => {
    const arrivals = [2, 3].map(occurredAt => ({ ...event, id: 'foreign-7', occurredAt }))
    const ids = arrivals.map(arrived => letterId('orders', 'mailer', arrived))
    expect(ids[0]).toBe(ids[1])
  })

  it.each([
    ['a UUIDv7', event.id, '018bcfe5-6800-804c-8350-28a8832f5b26'],
    ['one in capitals', '018BCFE5-6800-7000-8000-00000000000F', '018bcfe5-6800-88e7-a3f2-176c69be20e4'],
    ['any other text', 'foreign-7', '1092d31b-70c6-8daa-98b7-efa6ea8e6ba0'],
  ])('E9: never changes for %s, because stores hold it', (_, id, expected) => {
    expect(letterId('orders', 'mailer', { id })).toBe(expected)
  })
})
