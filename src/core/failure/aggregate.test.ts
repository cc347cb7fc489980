import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import { PermanentError } from './signals.ts'

const status = (status: number) => Object.assign(new Error(`HTTP ${status}`), { status })

describe('several errors at once', () => {
  it('F2/S3: an AggregateError is known by its members, and may pass if one of them may', async () => {
    const thrown = await Promise.any([Promise.reject(status(404)), Promise.reject(status(503))]).catch(
      (error: unknown) => error,
    )
    expect(classify(thrown)).toMatchObject({ name: 'AggregateError', retryable: true, category: 'transient' })
    expect(classify(new AggregateError([status(404), status(409)]))).toMatchObject({ retryable: false })
  })

  it('F2/S3: each member is asked all questions, its own causes included', () => {
    const member = new Error('wrapper', { cause: new PermanentError('no') })
    expect(classify(new AggregateError([new Error('odd'), member])).decidedBy).toBe('error-itself')
    expect(classify(new AggregateError([new PermanentError('no'), status(503)])).retryable).toBe(true)
  })

  it('F2/S3: an AggregateError that says what it is by itself is not looked into', () => {
    const both = Object.assign(new AggregateError([status(404)]), { code: 'ECONNREFUSED' })
    expect(classify(both)).toMatchObject({ retryable: true, decidedBy: 'system-code' })
  })

  it('F2/S3: an AggregateError without anything known inside is unknown', () => {
    expect(classify(new AggregateError([new Error('a'), 'b', null]))).toMatchObject({ category: 'unknown' })
    expect(classify(new AggregateError([]))).toMatchObject({ category: 'unknown' })
  })

  it('F2/S3: a SuppressedError is known by the error it suppressed', () => {
    const thrown = Object.assign(new Error('while disposing'), {
      name: 'SuppressedError',
      suppressed: status(422),
      error: new Error('close failed'),
    })
    expect(classify(thrown)).toMatchObject({ retryable: false, category: 'schema' })
  })

  it('B4: aggregates with different members are different failures', () => {
    const [one, other] = [status(404), status(409)].map(member =>
      classify(new AggregateError([member], 'all failed')),
    )
    expect(one?.fingerprint.id).not.toBe(other?.fingerprint.id)
  })

  it('F2/S3: an aggregate that holds itself, or far too much, ends', () => {
    const itself = new AggregateError([], 'round')
    itself.errors.push(itself, new AggregateError([itself]))
    expect(classify(itself).category).toBe('unknown')
    const wide = new AggregateError(Array.from({ length: 2_000 }, (_, index) => new Error(`${index}`)))
    expect(classify(wide).category).toBe('unknown')
    let deep = new AggregateError([status(404)])
    for (let level = 0; level < 1_000; level++) deep = new AggregateError([deep, deep, new Error('filler')])
    expect(classify(deep).category).toBe('unknown')
  })
})
