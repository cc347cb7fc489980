import { describe, expect, it } from 'vitest'
import { classify } from '../classify.ts'

const SCHEMA = { category: 'schema', retryable: false }
const issue = { message: 'expected string', path: ['order', 'id'] }

describe('validation and JSON errors', () => {
  it('F2/S3: an error that carries issues is one of a schema, whichever library threw it', () => {
    const libraries = {
      zod: Object.assign(new Error('[…]'), {
        name: 'ZodError',
        issues: [{ code: 'invalid_type', ...issue }],
      }),
      valibot: Object.assign(new Error('x'), { name: 'ValiError', issues: [{ kind: 'schema', ...issue }] }),
      arktype: Object.assign(new Error('x'), { name: 'TraversalError', arkErrors: [issue] }),
      result: { issues: [issue] },
    }
    for (const error of Object.values(libraries))
      expect(classify(error)).toMatchObject({ ...SCHEMA, decidedBy: 'validation' })
    const list = Object.assign([issue], { message: 'x' })
    expect(classify(Object.assign(list, { issues: list })).decidedBy).toBe('validation')
  })

  it('F2/S3: an empty list, or issues of another kind, are not a validation error', () => {
    for (const issues of [[], ['text'], [{ title: 'x' }], { 0: issue }, 'x'])
      expect(classify(Object.assign(new Error('x'), { issues })).decidedBy).toBe('unknown')
  })

  it.each(['', '{', '{"a":', '<html>', '[1,]', '"\n"', '{a:1}', '-', 'undefined'])(
    'F2/S3: text that is not JSON is a schema failure: %j',
    text => {
      let thrown: unknown
      try {
        JSON.parse(text)
      } catch (error) {
        thrown = error
      }
      expect(classify(thrown)).toMatchObject({ ...SCHEMA, decidedBy: 'json-syntax' })
    },
  )

  it('F2/S3: a syntax error of code is not one of data', () => {
    expect(classify(new SyntaxError('Invalid regular expression: /(/'))).toMatchObject({
      category: 'unknown',
    })
  })
})

describe('errors of Lazaret itself', () => {
  it.each([
    ['LAZARET_TIMEOUT', 'transient', true, 'timeout'],
    ['LAZARET_BREAKER_OPEN', 'transient', true, 'lazaret'],
    ['LAZARET_RATE_LIMITED', 'transient', true, 'own-limit'],
    ['LAZARET_EVENT_INVALID', 'schema', false, 'lazaret'],
    ['LAZARET_CLOUDEVENT_INVALID', 'schema', false, 'lazaret'],
    ['LAZARET_OPTIONS_INVALID', 'business', false, 'lazaret'],
    ['LAZARET_TRANSITION_ILLEGAL', 'business', false, 'lazaret'],
  ])('F2/S3: %s is %s, retryable %s', (code, category, retryable, decidedBy) => {
    expect(classify(Object.assign(new Error('x'), { code, retryable }))).toMatchObject({
      category,
      retryable,
      decidedBy,
    })
  })

  it('F2/S3: a rule may know better than the table about them', () => {
    const timeout = Object.assign(new Error('x'), { code: 'LAZARET_TIMEOUT', retryable: true })
    const rules = [{ when: 'LAZARET_TIMEOUT', retryable: false }]
    expect(classify(timeout, { rules }).retryable).toBe(false)
  })

  it('F2/S3: a code of theirs without an entry goes by its own word', () => {
    const error = (retryable: unknown) => classify({ code: 'LAZARET_OF_TOMORROW', retryable })
    expect(error(true)).toMatchObject({ retryable: true, category: 'transient', decidedBy: 'lazaret' })
    expect(error(false)).toMatchObject({ retryable: false, category: 'business', decidedBy: 'lazaret' })
    expect(error('yes').decidedBy).toBe('unknown')
  })
})
