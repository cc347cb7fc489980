import { describe, expect, it } from 'vitest'
import { consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { fixed } from '../../core/retry/fixed.ts'
import type { StandardSchema } from '../../ports/schema.ts'

type Answer = { readonly value: unknown } | { readonly issues: readonly { readonly message: string }[] }

function schemaOf(validate: (payload: unknown) => Answer | Promise<Answer>): StandardSchema {
  return { '~standard': { version: 1, vendor: 'test', validate } } as unknown as StandardSchema
}

const retry = { attempts: 2, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) } as const
const never = () => new Promise<Answer>(() => {})

describe('an async schema is part of the attempt', () => {
  it('E17: validations that hang end with the timeout: the channel goes on, and their events become letters', async () => {
    const { consumer, publish, clock, handled, letters, recorder } = world({
      schema: schemaOf(payload => (payload === 'hangs' ? never() : { value: payload })),
      timeoutMs: 500,
      breaker: 'off',
      retry,
    })
    await consumer.start()
    await publish(...Array.from({ length: 10 }, () => 'hangs'), 'fine')
    await clock.advance(600)
    expect(handled).toEqual(['fine'])
    await clock.advance(10_000)
    expect(await letters()).toHaveLength(10)
    expect((await letters())[0]).toMatchObject({
      cycle: { reason: 'attempts_exhausted', attemptCount: 2, failure: { code: 'LAZARET_TIMEOUT' } },
    })
    expect(recorder.count('attemptFailed')).toBe(20)
    expect(consumer.health()).toMatchObject({ active: 0, late: 0 })
    await consumer.close()
  })

  it('E17: closing does not wait for a validation beyond the grace time, and it costs no attempt', async () => {
    const { consumer, publish, clock, recorder } = world({ schema: schemaOf(never) })
    await consumer.start()
    await publish('x')
    await clock.advance(100)
    expect(consumer.health().active).toBe(1)
    const closed = consumer.close({ graceMs: 200 })
    await clock.advance(200)
    await closed
    expect(recorder.of('eventProcessed')).toMatchObject([{ outcome: 'released' }])
  })

  it('E17: a handler does not start when its schema answers after the timeout; the next attempt asks the schema again', async () => {
    const answers = [Promise.withResolvers<Answer>(), Promise.withResolvers<Answer>()]
    let asked = 0
    const { consumer, publish, clock, handled } = world({
      schema: schemaOf(() => answers[asked++]!.promise),
      timeoutMs: 500,
      retry,
    })
    await consumer.start()
    await publish('x')
    await clock.advance(600)
    answers[0]!.resolve({ value: 'first' })
    await clock.advance(100)
    expect(handled).toEqual([])
    await clock.advance(1_000)
    answers[1]!.resolve({ value: 'second' })
    await clock.advance(1)
    expect(handled).toEqual(['second'])
    await consumer.close()
  })

  it.each([
    ['refuses', async () => ({ issues: [{ message: 'not a number' }] })],
    ['rejects', () => Promise.reject(new TypeError('broken schema'))],
  ])('K2: one that %s makes a schema letter after one attempt', async (_, validate) => {
    const { consumer, publish, clock, letters, handled, recorder } = world({
      schema: schemaOf(validate),
      retry,
    })
    await consumer.start()
    await publish('x')
    await clock.advance(0)
    expect(handled).toEqual([])
    expect(await letters()).toMatchObject([
      {
        event: { payload: 'x' },
        cycle: { reason: 'schema', attemptCount: 1, attempts: [{ number: 1 }] },
      },
    ])
    expect(recorder.of('eventProcessed')).toMatchObject([{ outcome: 'dead' }])
    await consumer.close()
  })

  it('K2: what it returns is what the handler gets', async () => {
    const { consumer, publish, clock, handled } = world({
      schema: schemaOf(async payload => ({ value: `${payload}!` })),
    })
    await consumer.start()
    await publish('x')
    await clock.advance(0)
    expect(handled).toEqual(['x!'])
    await consumer.close()
  })
})
