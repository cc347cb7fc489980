import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import { LazaretError } from './errors.ts'
import { PermanentError, RetryAfterError, TransientError } from './signals.ts'

describe('what the error says itself', () => {
  it('F2/S3: PermanentError gives up, as a business failure unless it says otherwise', () => {
    expect(classify(new PermanentError('card stolen'))).toMatchObject({
      name: 'PermanentError',
      message: 'card stolen',
      code: 'LAZARET_PERMANENT',
      retryable: false,
      category: 'business',
      decidedBy: 'error-itself',
    })
    expect(classify(new PermanentError('no such field', { category: 'schema' })).category).toBe('schema')
  })

  it('F2/S3: TransientError is tried again, even around an error that would be given up on', () => {
    const failure = classify(
      new TransientError('not there yet', { cause: Object.assign(new Error(), { status: 404 }) }),
    )
    expect(failure).toMatchObject({ retryable: true, category: 'transient', decidedBy: 'error-itself' })
  })

  it('B1: RetryAfterError names the delay', () => {
    const failure = classify(new RetryAfterError('quota', { delayMs: 1_500 }))
    expect(failure).toMatchObject({ retryable: true, category: 'transient', retryAfterMs: 1_500 })
  })

  it('B1: a delay nobody can wait for counts as not given, and the constructor does not throw', () => {
    const unusable = fc.oneof(
      fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1, undefined, '5', null, {}),
      fc.double({ max: -Number.MIN_VALUE }),
    )
    fc.assert(
      fc.property(unusable, delayMs => {
        const error = new RetryAfterError('quota', { delayMs: delayMs as number })
        expect(classify(error)).toMatchObject({ retryable: true, retryAfterMs: undefined })
      }),
    )
  })

  it('B1: a delay further down the chain is heard when the nearest error names none', () => {
    const cause = new RetryAfterError('quota', { delayMs: 250 })
    expect(classify(new TransientError('mailer', { cause })).retryAfterMs).toBe(250)
    expect(classify(new PermanentError('mailer', { cause })).retryAfterMs).toBeUndefined()
  })

  it('F2/S3: a signal counts whatever its code is set to, and the failure has that code', () => {
    const declined = Object.assign(new PermanentError('insufficient funds'), { code: 'CARD_DECLINED' })
    expect(classify(declined)).toMatchObject({
      retryable: false,
      category: 'business',
      code: 'CARD_DECLINED',
    })
    const busy = Object.assign(new RetryAfterError('quota', { delayMs: 250 }), { code: 'E_QUOTA' })
    expect(classify(busy)).toMatchObject({ retryable: true, retryAfterMs: 250, code: 'E_QUOTA' })
    const reset = Object.assign(new PermanentError('gone', { category: 'integration' }), {
      code: 'ECONNRESET',
    })
    expect(classify(new Error('wrapped', { cause: reset }))).toMatchObject({
      retryable: false,
      category: 'integration',
    })
  })

  it('F2/S3: a signal from a second copy of the package is understood by its code', () => {
    const foreign = Object.assign(new Error('stolen'), { code: 'LAZARET_PERMANENT', category: 'integration' })
    expect(classify(foreign)).toMatchObject({ retryable: false, category: 'integration' })
    const odd = Object.assign(new Error('stolen'), {
      code: 'LAZARET_PERMANENT',
      category: 'no such category',
    })
    expect(classify(odd).category).toBe('business')
  })

  it('F2/S3: a subclass of a signal is that signal', () => {
    class CardStolen extends PermanentError {
      override readonly name = 'CardStolen'
    }
    expect(classify(new CardStolen('no'))).toMatchObject({ name: 'CardStolen', retryable: false })
  })

  it('B4: an explicit fingerprint decides the group, whatever the message', () => {
    const first = classify(new PermanentError('card 1', { fingerprint: 'card-stolen' })).fingerprint
    const second = classify(new TransientError('another text', { fingerprint: 'card-stolen' })).fingerprint
    expect(first).toEqual(second)
    expect(first).toMatchObject({ rule: 'explicit', version: 1, basis: 'card-stolen' })
    expect(classify(new PermanentError('card 1', { fingerprint: 'other' })).fingerprint.id).not.toBe(first.id)
  })

  it('F2/S3: signals are Lazaret errors and keep their cause', () => {
    const cause = new Error('beneath')
    const error = new RetryAfterError('quota', { delayMs: 1, cause })
    expect(error).toBeInstanceOf(LazaretError)
    expect(error.cause).toBe(cause)
    expect('cause' in new PermanentError('none')).toBe(false)
  })
})
