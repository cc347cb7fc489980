import { describe, expect, it } from 'vitest'
import { consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { resilient } from '../resilient/resilient.ts'

type Then = (resolve: (value: unknown) => void, reject: (error: Error) => void) => void

const failed = new Error('The insert failed.')

/** As libraries for queries return it from code without `async`: `then` runs the query. */
function lazy(then: Then): PromiseLike<unknown> {
  return { then } as PromiseLike<unknown>
}

const QUERIES: readonly (readonly [string, () => PromiseLike<unknown>])[] = [
  ['resolves with a promise that rejects', () => lazy(resolve => resolve(Promise.reject(failed)))],
  ['resolves with another that rejects', () => lazy(resolve => resolve(lazy((_, reject) => reject(failed))))],
  [
    'rejects and then resolves',
    () =>
      lazy((resolve, reject) => {
        reject(failed)
        resolve('done')
      }),
  ],
]

const retry = { attempts: 2, backoff: fixed({ delayMs: 10, jitter: 'none' }) }

describe.each(QUERIES)('a promise of another library that %s', (_, query) => {
  it('B16: is a failed attempt of a handler', async () => {
    const { consumer, publish, clock, letters } = world({ retry, handle: () => query() as Promise<void> })
    await consumer.start()
    await publish('x')
    await clock.advance(10_000)
    const [letter] = await letters()
    expect(letter?.cycle).toMatchObject({ attemptCount: 2, failure: { message: failed.message } })
    await consumer.close()
  })

  it('B16: is a failed attempt of a protected function', async () => {
    const clock = new FakeClock()
    let calls = 0
    const save = resilient(
      () => {
        calls++
        return query()
      },
      { retry, clock },
    )
    const ended = save().then(
      () => 'succeeded',
      error => error,
    )
    await clock.advance(1_000)
    expect([await ended, calls]).toEqual([failed, 2])
  })
})
