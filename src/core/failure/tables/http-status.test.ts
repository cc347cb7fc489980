import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classify } from '../classify.ts'

const withStatus = (status: unknown) => Object.assign(new Error('answer'), { status })

describe('HTTP status', () => {
  it('E2: of 400 to 599, exactly 408, 425, 429 and the 5xx are retryable', () => {
    for (let status = 400; status < 600; status++) {
      const retryable = status >= 500 || [408, 425, 429].includes(status)
      expect(classify(withStatus(status)), `status ${status}`).toMatchObject({
        retryable,
        decidedBy: 'http-status',
      })
    }
  })

  it('E2: anything else there is no HTTP failure', () => {
    const other = fc.oneof(
      fc.integer({ max: 399 }),
      fc.integer({ min: 600 }),
      fc.constantFrom('ok', 404.5, null),
    )
    fc.assert(
      fc.property(other, status => {
        expect(classify(withStatus(status)).decidedBy).toBe('unknown')
      }),
    )
  })

  it.each([
    ['transient', [408, 425, 429, 502, 503, 504]],
    ['integration', [500, 501, 505, 507, 511, 599]],
    ['schema', [400, 411, 413, 414, 415, 417, 422, 431]],
    ['business', [402, 404, 409, 410, 412, 416, 423, 424, 428]],
    ['integration', [401, 403, 405, 406, 407, 418, 421, 426, 451, 499]],
  ])('K2: %s for %j', (category, statuses) => {
    for (const status of statuses) expect(classify(withStatus(status)).category).toBe(category)
  })

  it('E2: the status is found wherever clients keep it', () => {
    const places = [
      { status: 404 },
      { status: '404' },
      { statusCode: 404 },
      { response: { status: 404 } },
      { response: { statusCode: 404 } },
      { $metadata: { httpStatusCode: 404 } },
      new Response(null, { status: 404 }),
    ]
    for (const thrown of places)
      expect(classify(thrown)).toMatchObject({ retryable: false, category: 'business' })
  })

  it('E2: the status tells more than the code that the client puts beside it', () => {
    const error = Object.assign(new Error('x'), { code: 'UND_ERR_ABORTED', statusCode: 422 })
    expect(classify(error)).toMatchObject({ category: 'schema', code: 'UND_ERR_ABORTED' })
  })
})
