import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import { isDependencyFailure } from './failure.ts'
import { PermanentError, TransientError } from './signals.ts'

const sick = (error: unknown) => isDependencyFailure(classify(error))
const status = (status: number) => Object.assign(new Error('answer'), { status })
const own = (code: string) => Object.assign(new Error(code), { code, retryable: true })

describe('which failures count against a dependency', () => {
  it('B5: failures of the network, of the dependency, and unknown failures do', () => {
    expect(sick(Object.assign(new Error('x'), { code: 'ECONNRESET' }))).toBe(true)
    expect(sick(status(503))).toBe(true)
    expect(sick(status(500))).toBe(true)
    expect(sick(new Error('hm'))).toBe(true)
    expect(sick(own('LAZARET_TIMEOUT'))).toBe(true)
    expect(sick(own('LAZARET_BREAKER_OPEN'))).toBe(true)
  })

  it('B5: a schema or business failure never does, not even a retryable one', () => {
    expect(sick(status(422))).toBe(false)
    expect(sick(status(409))).toBe(false)
    expect(sick(new SyntaxError('Unexpected end of JSON input'))).toBe(false)
    expect(sick(new TransientError('not paid yet', { category: 'business' }))).toBe(false)
    expect(sick(new TransientError('old schema', { category: 'schema' }))).toBe(false)
  })

  it('B5: a permanent failure never does, whatever its category', () => {
    expect(sick(status(401))).toBe(false)
    expect(sick(new PermanentError('no', { category: 'integration' }))).toBe(false)
    expect(sick(new PermanentError('no', { category: 'unknown' }))).toBe(false)
  })

  it('B5: a call that our own limiter held back says nothing about the dependency', () => {
    expect(sick(own('LAZARET_RATE_LIMITED'))).toBe(false)
  })
})
