import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { groupingForDisplay, masksOfEvent } from './event-masks.ts'
import { failedEvent } from './failed-event.ts'
import { maskLetter } from './mask-letter.ts'
import { createMasks } from './masks.ts'

const make = createFactory()
const masks = createMasks({ paths: ['payload.person.name', 'payload.codes[*]', 'key'] })
const SECRET = 'a "quoted"\nline'

function letterOf(message: string, more: object = {}) {
  const event = make.event({
    key: 'k-77120',
    headers: { authorization: 'tok-9zq8' },
    payload: {
      password: SECRET,
      pin: 904_412,
      cvv: 123,
      person: { name: 'Ann Droid' },
      codes: ['zebra-1', 'zebra-22'],
      ...more,
    },
  })
  return make.letter({ event, error: new Error(message) })
}

describe('a text about an event', () => {
  it.each([
    ['by path', 'no such person: Ann Droid.', 'no such person: ***.'],
    ['an entry of an array, the longest first', 'zebra-22 before zebra-1', '*** before ***'],
    ['a number', 'pin 904412 is wrong, also as 904412.', 'pin *** is wrong, also as ***.'],
    ['a header', 'refused tok-9zq8', 'refused ***'],
    ['the key', 'lock k-77120 is held', 'lock *** is held'],
    ['as it is', `got ${SECRET}!`, 'got ***!'],
    ['as JSON', `got ${JSON.stringify(SECRET)}!`, 'got "***"!'],
    ['as JSON in JSON', `got ${JSON.stringify(JSON.stringify(SECRET))}!`, 'got "\\"***\\""!'],
    ['in a URL', `GET /find?q=${encodeURIComponent(SECRET)} failed`, 'GET /find?q=*** failed'],
    ['a short one as a word', 'cvv 123 at line 1234', 'cvv *** at line 1234'],
    ['cut at its end', 'the person was Ann Dr…', 'the person was ***…'],
    ['nothing', 'the stock is empty', 'the stock is empty'],
  ])('P2: hides what is masked in the event: %s', (_, message, shown) => {
    const letter = letterOf(message)
    expect(masksOfEvent(letter.event, masks).maskText(message)).toBe(shown)
    expect(failedEvent(letter, masks).lastError).toBe(`Error: ${shown}`)
    const { cycle } = maskLetter(letter, masks) as { cycle: { failure: { message: string } } }
    expect(cycle.failure.message).toBe(shown)
  })

  it('P2: hides it in every attempt, cycle and stack', () => {
    const letter = letterOf('no such person: Ann Droid')
    const failure = { ...letter.cycle.failure!, stack: 'Error: no such person: Ann Droid\n    at x.ts:1:2' }
    const attempt = make.attempt(1, { failure: { ...failure, fingerprint: failure.fingerprint.id } })
    const cycle = { ...letter.cycle, failure, attempts: [attempt] }
    const text = JSON.stringify(maskLetter({ ...letter, cycle, endedCycles: [cycle] }, masks))
    expect(text).not.toContain('Ann Droid')
    expect(text).toContain('at x.ts:1:2')
  })

  it('P2: hides it in the title and the basis of the group, cut or normalised', () => {
    const long = `${'x '.repeat(92)}Ann Droid is unknown`
    expect(groupingForDisplay(letterOf(long), masks).title).not.toMatch(/Ann|Dro/)
    const failure = { ...letterOf('zebra-22 is new').cycle.failure!, message: 'zebra-22 is new' }
    const fingerprint = {
      id: 'f',
      rule: 'message',
      version: 1,
      basis: 'Error: zebra-# is new',
    } as const
    const letter = letterOf('zebra-22 is new')
    const cycle = { ...letter.cycle, failure: { ...failure, fingerprint } }
    expect(groupingForDisplay({ ...letter, cycle }, masks)).toMatchObject({
      title: 'Error: *** is new',
      basis: 'Error: *** is new',
    })
  })

  it('P2: shows nothing of a text when there is more to hide than can be looked for', () => {
    const tokens = Array.from({ length: 6_000 }, (_, index) => `token-${index}`)
    const letter = letterOf('got token-5999', { tokens })
    expect(failedEvent(letter, masks).lastError).toBe('***')
  })

  it('P2: is the text itself with masks that hide nothing', () => {
    const none = createMasks({ defaults: false })
    const { event } = letterOf('x')
    expect(masksOfEvent(event, none)).toBe(none)
    expect(none.maskText('Ann Droid')).toBe('Ann Droid')
  })
})
