import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import { FingerprintSamples } from './fingerprint-samples.ts'
import { PermanentError, TransientError } from './signals.ts'

/** An error that counts how often its stack is read, thrown at a place in the code of its own. */
function errorAt(place: string, message: string, options?: ErrorOptions): Error & { reads: number } {
  const error = Object.assign(new Error(message, options), { reads: 0 })
  Object.defineProperty(error, 'stack', {
    get: () => {
      error.reads++
      return `Error: ${message}\n    at ${place} (/app/src/orders.js:1:1)`
    },
  })
  return error
}

function idOf(samples: FingerprintSamples, thrown: unknown): string {
  return samples.idOf(thrown, classify(thrown))
}

const exactIdOf = (thrown: unknown) => classify(thrown).fingerprint.id

describe('the fingerprints of attempts that are retried', () => {
  it('F2: the stack of one failure in sixteen is read, and all get the exact fingerprint', () => {
    const samples = new FingerprintSamples()
    const errors = Array.from({ length: 160 }, (_, order) =>
      errorAt('charge', `order ${order} was declined by host-${order}`),
    )
    const ids = new Set(errors.map(error => idOf(samples, error)))
    expect(errors.filter(({ reads }) => reads > 0)).toHaveLength(10)
    expect(ids).toEqual(new Set([exactIdOf(errors[0])]))
  })

  it('F2: once two places were seen with one message, every failure with it gets its own fingerprint', () => {
    const samples = new FingerprintSamples()
    const fail = (place: string) => idOf(samples, errorAt(place, 'declined'))
    const charge = exactIdOf(errorAt('charge', 'declined'))
    const refund = exactIdOf(errorAt('refund', 'declined'))
    expect(fail('charge')).toBe(charge)
    for (let count = 0; count < 15; count++) expect(fail('refund')).toBe(charge)
    for (let count = 0; count < 40; count++) {
      expect(fail('refund')).toBe(refund)
      expect(fail('charge')).toBe(charge)
    }
  })

  it('F2: failures with another name, code, message, root cause or decision share no fingerprint', () => {
    const samples = new FingerprintSamples()
    const causes = [errorAt('connect', 'refused'), Object.assign(errorAt('parse', 'bad'), { code: 'EBAD' })]
    const errors = [
      errorAt('one', 'declined'),
      errorAt('two', 'refused'),
      Object.assign(errorAt('three', 'declined'), { code: 'ECARD' }),
      Object.assign(errorAt('four', 'declined'), { name: 'CardError' }),
      ...causes.map((cause, index) => errorAt(`five${index}`, 'declined', { cause })),
      ...causes.map((cause, index) => errorAt(`six${index}`, 'wrapped', { cause: new Error('', { cause }) })),
      new TransientError('declined'),
    ]
    for (let round = 0; round < 3; round++)
      expect(errors.map(error => idOf(samples, error))).toEqual(errors.map(exactIdOf))
  })

  it('F2: a failure that names its group, or carries several errors, is never taken for another', () => {
    const samples = new FingerprintSamples()
    for (let group = 0; group < 20; group++) {
      const named = new TransientError('declined', { fingerprint: `group-${group}` })
      for (const thrown of [named, new Error('wrapped', { cause: named })])
        expect(idOf(samples, thrown)).toBe(exactIdOf(thrown))
      const many = new AggregateError([errorAt(`place${group}`, 'one')], 'all failed')
      for (const thrown of [many, new Error('wrapped', { cause: many })])
        expect(idOf(samples, thrown)).toBe(exactIdOf(thrown))
    }
  })

  it('F2: whatever is thrown gets a fingerprint, and the memory for it stays small', () => {
    const samples = new FingerprintSamples()
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no')
        },
      },
    )
    for (const thrown of [undefined, null, 'text', 7n, hostile, new PermanentError('x')])
      expect(idOf(samples, thrown)).toBe(exactIdOf(thrown))
    const first = errorAt('place', 'message a')
    idOf(samples, first)
    for (let count = 0; count < 300; count++)
      idOf(samples, errorAt('place', `message ${String.fromCharCode(0x4e00 + count)}`))
    const again = errorAt('place', 'message a')
    idOf(samples, again)
    expect(again.reads).toBeGreaterThan(0)
  })
})
