import { describe, expect, it } from 'vitest'
import { memoryStore } from '../adapters/memory/store.ts'
import type { LetterInput } from '../core/dead-letter/create.ts'
import { LazaretError } from '../core/failure/errors.ts'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { discardLetter } from './decide.ts'
import { KeyUnblocker } from './unblock-keys.ts'

const KAFKA = { broker: 'kafka', brokerKind: 'kafka' }

function world(answer: () => Promise<void> = async () => {}) {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const make = createFactory({ clock })
  const asked: string[] = []
  const unblockKey = async (_channel: string, eventId: string) => {
    asked.push(`kafka ${eventId}`)
    await answer()
  }
  store.broker!.unblockKey = async (_channel, eventId) => void asked.push(`own ${eventId}`)
  let opened = 0
  const brokers = () => {
    opened++
    return [{ name: 'kafka', kind: 'kafka', unblockKey }]
  }
  const keys = new KeyUnblocker(store, { brokers, clock })
  const discard = async (input: Partial<LetterInput>) => {
    const letter = make.letter({ event: make.event({ key: 'a' }), ...input })
    await store.deadLetters.send(letter)
    await discardLetter(store, letter.id, { by: 'ann', at: clock.now() }, keys)
    expect((await store.deadLetters.get(letter.id))?.state).toBe('discarded')
    return letter
  }
  return { keys, discard, asked, opened: () => opened }
}

describe('the keys of discarded letters', () => {
  it('B9: a letter of the broker of its store opens no other broker', async () => {
    const { keys, discard, asked, opened } = world()
    const own = await discard({ origin: { broker: 'memory', brokerKind: 'memory' }, ordering: 'by-key' })
    expect({ asked, opened: opened(), blocked: keys.blocked }).toEqual({
      asked: [`own ${own.event.id}`],
      opened: 0,
      blocked: [],
    })
  })

  it.each<[what: string, input: Partial<LetterInput>, isAsked: boolean]>([
    ['with order by key', { ordering: 'by-key' }, true],
    [
      'with order by partition, whose events need no key',
      { ordering: 'by-key', event: createFactory().event() },
      true,
    ],
    ['of an earlier version', {}, true],
    ['of an earlier version, without a key', { event: createFactory().event() }, false],
    ['without order', { ordering: 'none' }, false],
    ['of another program', { origin: { ...KAFKA, collectedFrom: 'orders.dlq' } }, false],
    [
      'of Lazaret that a collector found',
      { origin: { ...KAFKA, collectedFrom: 'orders.dlq' }, ordering: 'by-key' },
      true,
    ],
  ])('B9: another broker is asked about a letter that can block its key: %s', async (_, input, isAsked) => {
    const { discard, asked } = world()
    const { event } = await discard({ origin: KAFKA, ...input })
    expect(asked.includes(`kafka ${event.id}`)).toBe(isAsked)
  })

  it('B9: a broker that has no consumer with order has no blocked key', async () => {
    const unroutable = new (class extends LazaretError {})('no queue', {
      code: 'LAZARET_BROKER_UNROUTABLE',
      retryable: false,
    })
    const { keys, discard } = world(() => Promise.reject(unroutable))
    await discard({ origin: KAFKA, ordering: 'by-key' })
    expect(keys.blocked).toEqual([])
  })

  it('B9: only a letter that says so certainly blocks its key', async () => {
    const { keys, discard } = world(() => Promise.reject(new Error('down')))
    await discard({ origin: KAFKA })
    expect(keys.shortfall()).toBeUndefined()
    await discard({ origin: KAFKA, ordering: 'by-key' })
    expect(keys.shortfall()).toEqual({ stillBlocked: 1 })
    const [uncertain, certain] = keys.blocked.map(({ letterId }) => letterId)
    expect(keys.problems(10)).toEqual([
      `if the consumer of ${uncertain} keeps the order of keys, events of its key still wait: broker 'kafka' failed (down); make it reachable. Then run: lazaret dlq unblock ${uncertain}`,
      `events of the key of ${certain} still wait: broker 'kafka' failed (down); make it reachable. Then run: lazaret dlq unblock ${certain}`,
    ])
  })
})
