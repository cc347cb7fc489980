import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { describeCycle, letterFromHeader, letterToHeader } from './letter-headers.ts'

const make = createFactory()
const NO_LIMIT = Number.POSITIVE_INFINITY

describe('headers of a letter', () => {
  it('K10: a letter reads back whole, of an event and of a message that is not an event', () => {
    const letter = make.letter()
    const text = letterToHeader(letter, letter.event, NO_LIMIT)
    expect(letterFromHeader(text, () => letter.event)).toEqual(letter)

    const raw = new TextEncoder().encode('{"no')
    const content = { raw, problem: 'it is not valid JSON' }
    const broken = make.letter({ event: make.event({ payload: raw }), reason: 'undecodable' })
    expect(letterFromHeader(letterToHeader(broken, content, NO_LIMIT), () => content)).toEqual(broken)
  })

  it('K10: the payload is in the message alone', () => {
    const letter = make.letter({ event: make.event({ payload: { card: '4242' } }) })
    const content = { raw: new Uint8Array(), problem: 'it is not valid JSON' }
    for (const text of [
      letterToHeader(letter, letter.event, NO_LIMIT),
      letterToHeader(letter, content, NO_LIMIT),
    ])
      expect(text).not.toContain('4242')
  })

  it('B8: attempts in the middle are left out until the letter fits', () => {
    const attempts = Array.from({ length: 20 }, (_, index) => make.attempt(index + 1))
    const letter = make.letter({ attempts, attemptCount: 20 })
    const whole = letterToHeader(letter, letter.event, NO_LIMIT)
    const { cycle } = letterFromHeader(
      letterToHeader(letter, letter.event, whole.length / 2),
      () => letter.event,
    )
    expect(cycle.attemptCount).toBe(20)
    expect(cycle.attempts.length).toBeLessThan(20)
    expect([cycle.attempts[0]?.number, cycle.attempts.at(-1)?.number]).toEqual([1, 20])
    const least = letterFromHeader(letterToHeader(letter, letter.event, 1), () => letter.event)
    expect(least.cycle.attempts).toEqual([])
  })

  it('K10: people read the reason, the times and a short error', () => {
    const { cycle } = make.letter()
    const failure = { ...cycle.failure!, name: 'HttpError', message: 'm'.repeat(5_000) }
    const headers = describeCycle({ ...cycle, failure, attemptCount: 3, firstFailedAt: 0 })
    expect(headers).toMatchObject({
      'lazaret-reason': cycle.reason,
      'lazaret-category': cycle.category,
      'lazaret-attempts': 3,
      'lazaret-first-failed-at': '1970-01-01T00:00:00.000Z',
      'lazaret-fingerprint': failure.fingerprint.id,
    })
    expect(headers['lazaret-error']).toBe(`HttpError: ${'m'.repeat(5_000)}`.slice(0, 1_000))
    expect(describeCycle({ ...cycle, failure: undefined })).not.toHaveProperty('lazaret-error')
  })
})
