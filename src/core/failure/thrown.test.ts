import { describe, expect, it } from 'vitest'
import { bounded, MESSAGE_MAX, readThrown } from './thrown.ts'

describe('reading what was thrown', () => {
  it('P2/K2: a class without a name of its own is known by its constructor', () => {
    class OrderRefused extends Error {}
    expect(readThrown(new OrderRefused('no')).name).toBe('OrderRefused')
    expect(readThrown(Object.assign(new OrderRefused('no'), { name: 'Refused' })).name).toBe('Refused')
  })

  it('B4: a name that a minifier left is not taken, for it changes with the build', () => {
    const minified = { e: class extends Error {} }.e
    Object.defineProperty(minified, 'name', { value: 'e' })
    expect(readThrown(new minified('no')).name).toBe('Error')
  })

  it('P2/K2: a code may be a number, and anything else there is no code', () => {
    expect(readThrown({ code: 404 }).code).toBe('404')
    expect(readThrown({ code: 'E_X' }).code).toBe('E_X')
    for (const code of ['', Number.NaN, {}, null, true]) expect(readThrown({ code }).code).toBeUndefined()
  })

  it('P2/K2: a huge message is cut, and half a surrogate pair or a NUL never reaches a store', () => {
    const { message } = readThrown(new Error('x'.repeat(10_000_000)))
    expect(message).toHaveLength(MESSAGE_MAX)
    expect(message.endsWith('…')).toBe(true)
    expect(bounded('ab😀', 4)).toBe('ab😀')
    expect(bounded('ab😀c', 4)).toBe('ab\uFFFD…')
    expect(bounded('a\0b', 9)).toBe('a\uFFFDb')
  })

  it('P2/K2: the password in a connection URL is left out of the message', () => {
    const { message } = readThrown(new Error('cannot reach postgres://app:s3cret@db:5432/shop'))
    expect(message).toBe('cannot reach postgres://***@db:5432/shop')
  })
})
