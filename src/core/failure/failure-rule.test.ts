import { describe, expect, it } from 'vitest'
import { Faults } from '../options/faults.ts'
import { classify } from './classify.ts'
import type { FailureRule } from './failure-rule.ts'
import { failureRules } from './failure-rule-options.ts'

class Duplicate extends Error {}
class DuplicateOrder extends Duplicate {}

const judged = (error: unknown, ...rules: FailureRule[]) => classify(error, { rules })

describe('the handler’s own rules', () => {
  it('E1: a rule makes further errors retryable', () => {
    const gone = Object.assign(new Error('gone'), { status: 410 })
    expect(judged(gone).retryable).toBe(false)
    expect(judged(gone, { when: error => error === gone, retryable: true })).toMatchObject({
      retryable: true,
      category: 'transient',
      decidedBy: 'handler-rule',
    })
  })

  it('F2/S3: a rule speaks of a class with its subclasses, of a name, of a code, or of what its test accepts', () => {
    const classification = { retryable: false, decidedBy: 'handler-rule' }
    expect(judged(new DuplicateOrder(), { when: Duplicate, retryable: false })).toMatchObject(classification)
    expect(judged(new DuplicateOrder(), { when: 'DuplicateOrder', retryable: false })).toMatchObject(
      classification,
    )
    expect(judged({ code: 'E_DUP' }, { when: 'E_DUP', retryable: false })).toMatchObject(classification)
    expect(judged('dup', { when: error => error === 'dup', retryable: false })).toMatchObject(classification)
    expect(judged(new Error('other'), { when: Duplicate, retryable: false }).decidedBy).toBe('unknown')
  })

  it('F2/S3: the first rule in the list that speaks of any error in the chain decides', () => {
    const wrapped = new Error('wrapper', { cause: new Duplicate('d') })
    const specific: FailureRule = { when: Duplicate, retryable: false }
    const general: FailureRule = { when: Error, retryable: true }
    expect(judged(wrapped, specific, general).retryable).toBe(false)
    expect(judged(wrapped, general, specific).retryable).toBe(true)
  })

  it('F2/S3: what a rule leaves out follows from what it says', () => {
    const all = () => true
    expect(judged('x', { when: all, category: 'schema' }).retryable).toBe(false)
    expect(judged('x', { when: all, category: 'business' }).retryable).toBe(false)
    expect(judged('x', { when: all, category: 'integration' }).retryable).toBe(true)
    expect(judged('x', { when: all, category: 'business', retryable: true }).retryable).toBe(true)
    expect(judged('x', { when: all, retryable: false }).category).toBe('business')
    expect(judged('x', { when: all, retryAfterMs: 5 })).toMatchObject({ retryable: true, retryAfterMs: 5 })
    expect(judged('x', { when: all, retryAfterMs: -5 }).retryAfterMs).toBeUndefined()
  })

  it('F2/S3: a rule that throws, or answers with a promise, is passed over', () => {
    const broken: FailureRule = { when: error => (error as Duplicate).message.length > 0, retryable: false }
    const later = { when: async () => true, retryable: false } as unknown as FailureRule
    expect(judged(null, broken, later)).toMatchObject({ decidedBy: 'unknown', retryable: true })
  })

  it('B4: a rule groups the errors it speaks of', () => {
    const rule: FailureRule = { when: Duplicate, retryable: false, fingerprint: 'duplicate' }
    expect(judged(new Duplicate('a'), rule).fingerprint).toEqual(judged(new Duplicate('b'), rule).fingerprint)
  })

  it('F2/S3: rules among a handler’s options are read whole, and every fault is told', () => {
    const read = (rules: unknown) => {
      const faults = new Faults()
      failureRules.read(rules, 'classify', faults)
      return faults.list.map(fault => fault.path)
    }
    const test = (error: unknown) => error === 1
    expect(
      read([
        { when: Duplicate, retryable: false },
        { when: test, category: 'schema' },
      ]),
    ).toEqual([])
    expect(
      read([
        { when: 'E_DUP' },
        { when: class NoError {}, retryable: true },
        { when: '', category: 'wrong' },
        { when: 'E', retryable: false, retryAfterMs: 5 },
      ]),
    ).toEqual([
      'classify[0].retryable',
      'classify[1].when',
      'classify[2].when',
      'classify[2].category',
      'classify[3].retryAfterMs',
    ])
  })
})
