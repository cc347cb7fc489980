import { describe, expect, it } from 'vitest'
import { EventError } from './errors.ts'
import { createEvent, type EventInput } from './event.ts'
import { resolveEventLimits } from './limits.ts'

const sources = { now: 1_700_000_000_000, newId: (nowMs: number) => `id-${nowMs}` }
const create = (input: object) => createEvent({ type: 'order.paid', channel: 'orders', ...input }, sources)

function refusalOf(run: () => unknown): EventError {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(EventError)
    return error as EventError
  }
  throw new Error('nothing was refused')
}

describe('createEvent', () => {
  it('S8: fills in id, idempotency key and time', () => {
    expect(create({})).toStrictEqual({
      v: 1,
      id: 'id-1700000000000',
      type: 'order.paid',
      channel: 'orders',
      key: undefined,
      idempotencyKey: 'id-1700000000000',
      occurredAt: 1_700_000_000_000,
      expiresAt: undefined,
      source: undefined,
      headers: {},
      payload: null,
    })
  })

  it('S8: checks the channel of an event, also where there is a default one', () => {
    const input: EventInput = { type: 'order.paid', channel: 'a b' }
    const { message } = refusalOf(() => createEvent(input, { ...sources, channel: 'orders' }))
    expect(message).toContain('channel: got "a b"')
  })

  it('K8: keeps the id and idempotency key it is given', () => {
    const again = {
      id: 'order-7',
      idempotencyKey: 'pay-7',
      occurredAt: 5,
      expiresAt: 9,
      source: '/shop',
      key: 'c1',
    }
    expect(create(again)).toMatchObject(again)
    expect(create({ id: 'order-7' }).idempotencyKey).toBe('order-7')
  })

  it('E21: every event has the same fields in the same order', () => {
    const full = create({ payload: 1, headers: { a: 'b' }, source: '/s', expiresAt: 1, key: 'k', id: 'i' })
    expect(Object.keys(full)).toEqual(Object.keys(create({})))
  })

  it("P2: does not share the caller's headers", () => {
    const headers = { a: '1' }
    const event = create({ headers })
    headers.a = '2'
    expect(event.headers).toEqual({ a: '1' })
  })

  it('P2: refuses what breaks a limit, listing subject, value and remedy of each fault', () => {
    const error = refusalOf(() => create({ channel: 'a b', payload: { when: new Date(0) }, id: 'order-7' }))
    expect(error).toMatchObject({ code: 'LAZARET_EVENT_INVALID', retryable: false })
    expect(error.message).toBe(
      [
        'event "order-7": 2 faults',
        `  channel: got "a b"; give a name of 1 to 120 letters, digits, '.', '_' or '-', such as 'orders.eu'; it begins and ends with a letter or digit and has no '..'`,
        '  payload.when: got an instance of a class; give its toISOString() or its epoch milliseconds',
      ].join('\n'),
    )
  })

  it('P2: limits can be set', () => {
    const limits = resolveEventLimits({ maxPayloadBytes: 10 })
    const input = { type: 't', channel: 'c', payload: 'x'.repeat(9) }
    expect(refusalOf(() => createEvent(input, { ...sources, limits })).faults[0]!.path).toBe('payload')
    expect(() => resolveEventLimits({ maxDepth: 0, maxHeaders: -1 })).toThrow(/maxDepth[\s\S]*maxHeaders/)
  })

  it('P2: an input that cannot even be read is refused like any other', () => {
    const hostile = Object.defineProperty({}, 'type', { get: () => JSON.parse('') }) as EventInput
    expect(refusalOf(() => createEvent(hostile, sources)).cause).toBeInstanceOf(SyntaxError)
    expect(refusalOf(() => createEvent(null as unknown as EventInput, sources)).faults).toHaveLength(1)
    expect(refusalOf(() => create({ headers: JSON.parse('{"__proto__":"x"}') })).faults[0]!.path).toBe(
      'headers',
    )
    expect(refusalOf(() => create({ headers: new Map([['a', 'b']]) })).faults[0]!.path).toBe('headers')
  })
})
