import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import { PermanentError, TransientError } from './signals.ts'

const refused = (message = 'connect ECONNREFUSED') =>
  Object.assign(new Error(message), { code: 'ECONNREFUSED' })

describe('classify', () => {
  it('F2/S3: an error that nothing recognises is tried again, with category unknown', () => {
    expect(classify(new Error('hm'))).toMatchObject({
      name: 'Error',
      message: 'hm',
      code: undefined,
      category: 'unknown',
      retryable: true,
      decidedBy: 'unknown',
      retryAfterMs: undefined,
    })
  })

  it('F2/S3: the error itself is asked before the rules, and the rules before the table', () => {
    const rules = [{ when: () => true, category: 'schema' as const }]
    expect(classify(new TransientError('x'), { rules }).decidedBy).toBe('error-itself')
    expect(classify(refused(), { rules }).decidedBy).toBe('handler-rule')
    expect(classify(refused()).decidedBy).toBe('system-code')
  })

  it('F2/S3: the cause chain is searched', () => {
    const failure = classify(
      new TypeError('fetch failed', { cause: new Error('wrapped', { cause: refused() }) }),
    )
    expect(failure).toMatchObject({
      name: 'TypeError',
      message: 'fetch failed',
      code: 'ECONNREFUSED',
      category: 'transient',
      decidedBy: 'system-code',
    })
  })

  it('F2/S3: a signal deep in the chain beats what the table knows of its wrapper', () => {
    const wrapper = Object.assign(new Error('gateway', { cause: new PermanentError('stolen') }), {
      status: 503,
    })
    expect(classify(wrapper)).toMatchObject({ retryable: false, decidedBy: 'error-itself' })
  })

  it('F2/S3: a rule that speaks of a cause beats what the table knows of its wrapper', () => {
    const wrapper = Object.assign(new Error('gateway', { cause: refused() }), { status: 503 })
    const rules = [{ when: 'ECONNREFUSED', retryable: false }]
    expect(classify(wrapper, { rules })).toMatchObject({ retryable: false, decidedBy: 'handler-rule' })
  })

  it('F2/S3: of two signals, and of two errors in the table, the nearest decides', () => {
    expect(classify(new TransientError('again', { cause: new PermanentError('no') })).retryable).toBe(true)
    expect(classify(new PermanentError('no', { cause: new TransientError('again') })).retryable).toBe(false)
    const conflict = Object.assign(new Error('conflict', { cause: refused() }), { status: 409 })
    expect(classify(conflict)).toMatchObject({ retryable: false, decidedBy: 'http-status' })
  })

  it('F2/S3: a cause beyond eight errors is not looked for', () => {
    const buried = (depth: number): Error =>
      depth === 0 ? refused() : new Error('wrapper', { cause: buried(depth - 1) })
    expect(classify(buried(7)).decidedBy).toBe('system-code')
    expect(classify(buried(8)).decidedBy).toBe('unknown')
  })

  it('P2/K2: the stack is kept only when asked for, and cut to size', () => {
    const error = Object.assign(new Error('x'), {
      stack: `Error: x\n${'    at f (/app/src/a.ts:1:1)\n'.repeat(999)}`,
    })
    expect('stack' in classify(error)).toBe(false)
    expect(classify(error, { stack: true }).stack).toHaveLength(8_000)
    expect('stack' in classify('no error at all', { stack: true })).toBe(false)
  })

  it('P2/K2: a failure is plain data: it survives JSON with its fingerprint', () => {
    const failure = classify(refused())
    const { retryAfterMs: _, ...stored } = failure
    expect(JSON.parse(JSON.stringify(failure))).toEqual(stored)
    expect(failure.fingerprint.id).toMatch(/^[0-9a-f]{16}$/)
    expect(failure.fingerprint).toBe(failure.fingerprint)
  })
})
