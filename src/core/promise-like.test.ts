import { describe, expect, it } from 'vitest'
import { foreignRejection, nestedRejection, unhandledDuring } from '../../test/support/rejections.ts'
import type { Observer } from '../ports/observer.ts'
import { writeLine } from '../runtime/log/aggregator.ts'
import { observe } from '../runtime/observe.ts'
import { observerFaults } from '../runtime/user-functions/observer-faults.ts'
import { Faults } from './options/faults.ts'
import { synchronous } from './options/rules.ts'
import { unusable } from './options/unusable.ts'
import { catchRejection } from './promise-like.ts'

const EXPIRED = { store: 'memory:', count: 1, byState: {} } as const

describe.each([
  ['of another library that resolves with one that rejects', nestedRejection],
  ['of another realm', foreignRejection],
  ['of the language', () => Promise.reject(new Error('rejected'))],
])('a promise %s that nobody awaits', (_, promise) => {
  it('B16: its rejection goes to the one who reports', async () => {
    const seen: unknown[] = []
    const unhandled = await unhandledDuring(() => catchRejection(promise(), error => seen.push(error)))
    expect([unhandled, seen]).toEqual([
      [],
      [expect.objectContaining({ message: expect.stringContaining('rejected') })],
    ])
  })

  it('B16: it is an unusable answer, and its rejection does not end the process', async () => {
    expect(
      await unhandledDuring(() => {
        expect(unusable('random', promise(), 'return a number').message).toContain('returned a promise')
      }),
    ).toEqual([])
  })

  it('B16: its rejection is a fault of the observer that returned it', async () => {
    const observer = { lettersExpired: promise } as unknown as Observer
    expect(await unhandledDuring(() => observe(observer, 'lettersExpired', EXPIRED))).toEqual([])
    expect(observerFaults(observer).count).toBe(1)
  })

  it('B16: a logger that returned it does not end the process', async () => {
    const logger = { debug() {}, info() {}, warn: promise as never, error() {} }
    const line = { what: 'gave_up', level: 'warn', message: 'gave up' } as const
    expect(await unhandledDuring(() => writeLine(logger, line, {}))).toEqual([])
  })

  it('B16: a function of a sink whose answer is needed at once fails instead', async () => {
    const line = synchronous<() => string>().read(promise, 'line', new Faults())
    expect(
      await unhandledDuring(() => {
        expect(() => line()).toThrow(
          'line returned a promise; return the value itself, and not a promise of it',
        )
      }),
    ).toEqual([])
  })
})
