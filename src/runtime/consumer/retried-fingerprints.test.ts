import { expect, it } from 'vitest'
import { consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { fixed } from '../../core/retry/fixed.ts'

/** Throws at one place, and counts how often the stacks of its errors are read. */
class CountedErrors {
  reads = 0

  at(place: string, category?: 'business'): Error {
    const error = Object.assign(new Error('declined'), { category, code: category && 'LAZARET_TRANSIENT' })
    Object.defineProperty(error, 'stack', {
      get: () => {
        this.reads++
        return `Error: declined\n    at ${place} (/app/src/orders.js:1:1)`
      },
    })
    return error
  }
}

const retry = { attempts: 3, backoff: fixed({ delayMs: 10, jitter: 'none' }) }

it('F2: a failure that is retried reads its stack once in sixteen times', async () => {
  const errors = new CountedErrors()
  const { consumer, publish, clock, letters } = world({
    retry,
    breaker: 'off',
    handle: async (_, { attempt }) => {
      if (attempt === 1) throw errors.at('charge')
    },
  })
  await consumer.start()
  for (let count = 0; count < 32; count++) await publish(`event-${count}`)
  await clock.advance(60_000)
  expect(await letters()).toEqual([])
  expect(errors.reads).toBe(2)
  await consumer.close()
})

it('F2: the failure of a letter has the fingerprint of its own place', async () => {
  const errors = new CountedErrors()
  const { consumer, publish, clock, letters } = world({
    retry: { ...retry, attempts: 1 },
    breaker: 'off',
    handle: async event => {
      throw errors.at(String(event.payload))
    },
  })
  await consumer.start()
  for (const id of ['charge', 'refund']) await publish(id)
  await clock.advance(60_000)
  for (const { event, cycle } of await letters()) {
    expect(cycle.failure!.fingerprint.basis).toContain(`at ${event.payload}`)
    expect(cycle.attempts.at(-1)!.failure!.fingerprint).toBe(cycle.failure!.fingerprint.id)
  }
  expect(await letters()).toHaveLength(2)
  await consumer.close()
})

it('F2, R7: repeats of a failure that blames the event are compared by their exact fingerprints', async () => {
  const errors = new CountedErrors()
  const { consumer, publish, clock, letters } = world({
    retry: { ...retry, attempts: 9 },
    breaker: 'off',
    handle: async (event, { attempt }) => {
      throw errors.at(event.payload === 'varies' ? `place${attempt}` : 'charge', 'business')
    },
  })
  await consumer.start()
  await publish('repeats')
  await publish('varies')
  await clock.advance(60_000)
  const found = new Map((await letters()).map(({ event, cycle }) => [event.payload, cycle]))
  expect(found.get('repeats')).toMatchObject({ reason: 'poison', attemptCount: 3 })
  expect(found.get('varies')).toMatchObject({ reason: 'attempts_exhausted', attemptCount: 9 })
  await consumer.close()
})
