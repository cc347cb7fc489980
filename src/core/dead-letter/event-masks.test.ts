import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { withExactNumbers } from '../event/exact-numbers.ts'
import { groupingForDisplay, masksOfEvent, masksOfLetter } from './event-masks.ts'
import { failedEvent } from './failed-event.ts'
import { maskLetter } from './mask-letter.ts'
import { createMasks } from './masks.ts'
import { storableEvent } from './storable-event.ts'

const make = createFactory()
const masks = createMasks({ paths: ['payload.person.name', 'payload.codes[*]', 'key'] })
const SECRET = 'a "quoted"\nline'

function letterOf(message: string, more: object = {}) {
  const event = make.event({
    key: 'k-77120',
    headers: { authorization: 'tok-9zq8', 'x-authorization': 'Bearer tok-4711-abcd' },
    payload: {
      password: SECRET,
      pin: 904_412,
      cvv: 123,
      person: { name: 'Ann Droid' },
      codes: ['zebra-1', 'zebra-22', "O'Hara-Smith", 'Müllerström'],
      mail: 'ada.lovelace@example.org',
      paid: '4111 1111 1111 1111',
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
    ['a credential without its word', 'refused tok-4711-abcd', 'refused ***'],
    ['as a form sends it', 'GET /find?q=Ann+Droid failed', 'GET /find?q=*** failed'],
    ['in another case', 'no row for ANN DROID', 'no row for ***'],
    ['in HTML', 'got <b>O&#39;Hara-Smith</b>', 'got <b>***</b>'],
    ['in HTML with other entities', 'got O&apos;Hara-Smith, O&#x27;Hara-Smith', 'got ***, ***'],
    ['as JSON in ASCII', String.raw`got "M\u00fcllerstr\u00F6m"`, 'got "***"'],
    ['with separate accents', `got ${'Müllerström'.normalize('NFD')}!`, 'got ***!'],
    ['with a line break or another space', 'got Ann\nDroid and Ann\u00a0Droid', 'got *** and ***'],
    ['in the query of a URL', `GET ${new URL("http://a/?q=O'Hara-Smith")}`, 'GET http://a/?q=***'],
    ['in a URL in a URL', 'GET /go?to=%2Ffind%3Fq%3DAnn%2520Droid', 'GET /go?to=%2Ffind%3Fq%3D***'],
    ['a number in groups', 'pin 904,412 is wrong', 'pin *** is wrong'],
    ['cut and in another case', 'the person was ANN DR…', 'the person was ***…'],
    ['without its line break', 'got a "quoted" line!', 'got ***!'],
    ['two that overlap', 'got zebra-1zebra-22', 'got ***'],
    ['in quotes of code', String.raw`got 'O\'Hara-Smith'`, "got '***'"],
    ['cut at its end', 'the person was Ann Dr…', 'the person was ***…'],
    ['cut without a mark', 'the person was Ann Dr', 'the person was ***'],
    ['cut with dots', 'the person was Ann Dro...', 'the person was ***...'],
    ['cut in JSON', `got {"said":"a \\"quo…`, 'got {"said":"***…'],
    [
      'cut by a parser',
      `bad token, "{"name":"Ann Dro"... is not valid`,
      `bad token, "{"name":"***"... is not valid`,
    ],
    ['cut before it', `bad token, ..."n Droid"}x" is not valid`, `bad token, ..."***"}x" is not valid`],
    ['cut on both sides', `bad token, ..."nn Droi"... is not valid`, `bad token, ..."***"... is not valid`],
    ['an address cut before its mark', 'no such user ada.lovel…', 'no such user ***…'],
    ['a card cut inside', 'refused 4111 1111 11…', 'refused ***…'],
    ['nothing', 'the stock is empty', 'the stock is empty'],
  ])('P2: hides what is masked in the event: %s', (_, message, shown) => {
    const letter = letterOf(message)
    expect(masksOfEvent(letter.event, masks).maskText(message)).toBe(shown)
    expect(failedEvent(letter, masks).lastError).toBe(`Error: ${shown}`)
    const { cycle } = maskLetter(letter, masks) as { cycle: { failure: { message: string } } }
    expect(cycle.failure.message).toBe(shown)
  })

  it.each([
    ['bytes', { password: Buffer.from('Ada Lovelace') }],
    ['a map', { passwords: new Map([['mail', 'Ada Lovelace']]) }],
    ['a map by a masked name', new Map([['password', 'Ada Lovelace']])],
    ['a set', { passwords: new Set(['Ada Lovelace']) }],
  ])('P2: hides what JSON writes in another form, before and after it is stored: %s', (_, payload) => {
    const event = { ...make.event(), payload }
    for (const each of [event, storableEvent(event).event])
      expect(masksOfEvent(each, masks).maskText('no Ada Lovelace')).toBe('no ***')
  })

  it('P2: hides an integer that JSON cannot write', () => {
    const { event } = storableEvent({ ...make.event(), payload: { password: 471_147_114_711n } })
    expect(masksOfEvent(event, masks).maskText('no 471147114711')).toBe('no ***')
  })

  it('P2: hides a large number as it was sent, and as JavaScript rounds it', () => {
    const content = new TextEncoder().encode('{"password":98765432109876543210}')
    const event = withExactNumbers(make.event({ payload: {} }), content)
    const own = masksOfEvent(event, masks)
    expect(own.maskText('no 98765432109876543210')).toBe('no ***')
    expect(own.maskText(`no ${Number('98765432109876543210')}`)).toBe('no ***')
  })

  it.each([
    [1_234_567.89, ['1234567.89', '1,234,567.89', '1.234.567,89', '1 234 567,89', "1'234'567.89"]],
    [52_000.5, ['52000.5', '52000,50', '52.000,5', '52,000.50']],
    [4.25, ['4.25', '4,25']],
  ])('P2: hides a number with a fraction as people write it: %d', (pin, texts) => {
    for (const sign of [1, -1]) {
      const own = masksOfEvent(make.event({ payload: { pin: sign * pin } }), masks)
      for (const text of texts) expect(own.maskText(`owes ${text} now`)).toBe('owes *** now')
    }
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

  it('P2: hides what is masked in the metadata and in the detail of its letter', () => {
    const text = 'desk 9zq-upper asked for k-lower-7'
    const letter = {
      ...letterOf(text),
      metadata: { desk: { token: '9zq-upper' }, team: 'asked' },
      detail: { secret: 'k-lower-7' },
    }
    expect(masksOfLetter(letter, masks).maskText(text)).toBe('desk *** asked for ***')
    expect(failedEvent(letter, masks).lastError).toBe('Error: desk *** asked for ***')
    expect(groupingForDisplay(letter, masks).title).toBe('Error: desk *** asked for ***')
    expect(JSON.stringify(maskLetter(letter, masks))).not.toMatch(/9zq-upper|k-lower-7/)
  })

  it('P2: hides a normalised value in the basis of the group, also one that only the cause quotes', () => {
    const letter = letterOf('it failed')
    const basis = 'Error: it failed ← Error: no zebra-# for Ann Droid'
    const fingerprint = { id: 'f', rule: 'message', version: 1, basis } as const
    const cycle = { ...letter.cycle, failure: { ...letter.cycle.failure!, fingerprint } }
    const shown = groupingForDisplay({ ...letter, cycle }, masks)
    expect(shown.basis).toBe('Error: it failed ← Error: no *** for ***')
  })

  it('P2: hides all that follows the beginning of a value that was stored cut', () => {
    const whole = 'q7'.repeat(800)
    const event = make.event({ payload: { password: `${whole.slice(0, 999)}…` } })
    expect(masksOfEvent(event, masks).maskText(`got ${whole} and more`)).toBe('got ***')
  })

  it('P2: shows nothing of a text about a payload that was stored without some of its values', () => {
    const customers = Array.from({ length: 101 }, (_, index) => ({ name: `Ann the ${index}th`, id: 1n }))
    const event = { ...make.event({}), payload: { customers } }
    const shown = (payload: unknown) =>
      failedEvent(make.letter({ event: { ...event, payload }, error: new Error('no Ann the 100th') }))
        .lastError
    expect(shown({ customers })).toBe('***')
    expect(shown({ customers: customers.slice(0, 100) })).toBe('Error: no Ann the 100th')
    expect(shown({ customers: customers.slice(60, 101) })).toBe('Error: no ***')
  })

  it('P2: takes a text made to be slow within the time of a test', { timeout: 20_000 }, () => {
    const tokens = Array.from({ length: 4_000 }, (_, index) => `aaaa${index}`)
    const event = make.event({ payload: { tokens, secret: 'a'.repeat(20_000) } })
    const own = masksOfEvent(event, masks)
    for (const unit of ['a', 'aaaa...', 'aaaab', '"aaa"... ']) own.maskText(unit.repeat(8_000 / unit.length))
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
