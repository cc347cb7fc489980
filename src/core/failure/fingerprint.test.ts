import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'

interface Place {
  readonly fn: string
  readonly file: string
  readonly prefix: string
  readonly line: number
}

function stackAt({ fn, file, prefix, line }: Place): string {
  return `    at node:internal/x:1:1\n    at ${fn} (${prefix}/src/${file}.ts:${line}:7)\n    at main (/m/src/main.ts:1:1)`
}

function failed(name: string, message: string, stack: string, more: object = {}): Error {
  return Object.assign(new Error(message), { name, stack: `${name}: ${message}\n${stack}`, ...more })
}

const idOf = (error: unknown) => classify(error).fingerprint.id
const word = fc.stringMatching(/^[g-z]{3,10}$/)
const file = fc.array(word, { minLength: 1, maxLength: 3 }).map(parts => parts.join('/'))
const prefix = fc.oneof(
  fc.array(word, { minLength: 1, maxLength: 4 }).map(parts => `/${parts.join('/')}`),
  word.map(part => `C:\\${part}`),
  word.map(part => `file:///srv/${part}`),
)
const place: fc.Arbitrary<Place> = fc.record({ fn: word, file, prefix, line: fc.nat() })

describe('fingerprint by frame', () => {
  it('B4: name, code and first application frame make the group; message, line and folder do not', () => {
    fc.assert(
      fc.property(place, prefix, fc.nat(), fc.string(), fc.string(), (at, otherPrefix, line, one, other) => {
        const first = classify(failed('OrderError', one, stackAt(at))).fingerprint
        const second = classify(
          failed('OrderError', other, stackAt({ ...at, prefix: otherPrefix, line })),
        ).fingerprint
        expect(second).toEqual(first)
        expect(first).toMatchObject({ rule: 'frame', version: 1 })
        expect(first.basis).toBe(`OrderError at ${at.fn} (src/${at.file}.ts)`)
      }),
    )
  })

  it('B4: another name, code, status, function or file makes another group', () => {
    fc.assert(
      fc.property(place, word, (at, other) => {
        const ids = [
          idOf(failed('OrderError', 'x', stackAt(at))),
          idOf(failed('OtherError', 'x', stackAt(at))),
          idOf(failed('OrderError', 'x', stackAt(at), { code: 'E_ONE' })),
          idOf(failed('OrderError', 'x', stackAt(at), { code: 'E_TWO' })),
          idOf(failed('OrderError', 'x', stackAt(at), { status: 404 })),
          idOf(failed('OrderError', 'x', stackAt({ ...at, fn: `${at.fn}_${other}` }))),
          idOf(failed('OrderError', 'x', stackAt({ ...at, file: `${at.file}/${other}` }))),
        ]
        expect(new Set(ids).size).toBe(ids.length)
      }),
    )
  })

  it('B4: the root cause counts beside the error that was thrown; wrappers between do not', () => {
    const root = (code: string) => failed('DatabaseError', 'x', '    at node:net:1:1', { code })
    const stack = '    at place (/app/src/orders.ts:1:1)'
    const thrown = (cause: unknown) => Object.assign(failed('OrderError', 'x', stack), { cause })
    expect(classify(thrown(root('23505'))).fingerprint.basis).toBe(
      'OrderError at place (src/orders.ts) ← DatabaseError 23505',
    )
    expect(idOf(thrown(root('23505')))).not.toBe(idOf(thrown(root('23503'))))
    expect(idOf(thrown(root('23505')))).toBe(idOf(thrown(new Error('between', { cause: root('23505') }))))
  })

  it('B4: a cause without frame or code is told by its message', () => {
    const stack = '    at place (/app/src/orders.ts:1:1)'
    const caused = (cause: unknown) => idOf(Object.assign(failed('OrderError', 'x', stack), { cause }))
    expect(caused('no stock for 12')).toBe(caused('no stock for 13'))
    expect(caused('no stock for 12')).not.toBe(caused('no price for 12'))
  })

  it('B4: the root is known by its own frame', () => {
    const cause = (fn: string) => failed('TypeError', 'x', `    at ${fn} (/app/src/price.ts:1:1)`)
    const wrapped = (fn: string) => Object.assign(failed('OrderError', 'x', ''), { cause: cause(fn) })
    expect(classify(wrapped('net')).fingerprint.rule).toBe('frame')
    expect(idOf(wrapped('net'))).not.toBe(idOf(wrapped('gross')))
  })
})

describe('fingerprint by message', () => {
  it('B4: without an application frame, name and normalised message make the group', () => {
    const thrown = failed('Error', 'order 12 failed', '    at parse (/app/node_modules/pg/x.js:1:1)')
    expect(classify(thrown).fingerprint).toMatchObject({ rule: 'message', basis: 'Error: order # failed' })
    expect(idOf('order 12 failed')).toBe(idOf('order 99 failed'))
    expect(idOf('order 12 failed')).not.toBe(idOf('order 12 paid'))
    expect(idOf({ name: 'A', message: 'x' })).not.toBe(idOf({ name: 'B', message: 'x' }))
  })

  it('B4: different words make different groups', () => {
    fc.assert(
      fc.property(word, word, (one, other) => {
        fc.pre(one !== other)
        expect(idOf(`cannot ${one} 5`)).not.toBe(idOf(`cannot ${other} 5`))
      }),
    )
  })

  it('B4: the id is what it was, for it is stored', () => {
    expect(idOf('order 12 failed')).toBe('eb5f92cc1054baa2')
    expect(idOf(failed('OrderError', 'x', '    at place (/app/src/orders.ts:1:1)'))).toBe('eea1c77dddaf188f')
  })

  it('B4: the rule is part of the id, so a key never falls in with a message', () => {
    const explicit = { code: 'LAZARET_PERMANENT', fingerprint: 'NonError: boom' }
    expect(classify('boom').fingerprint.basis).toBe('NonError: boom')
    expect(idOf(explicit)).not.toBe(idOf('boom'))
  })
})
