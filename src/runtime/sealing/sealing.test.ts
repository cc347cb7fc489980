import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLetter } from '../../core/dead-letter/create.ts'
import { encodeLetter, letterFromJson } from '../../core/dead-letter/json.ts'
import { createEvent } from '../../core/event/event.ts'
import { plainCodec } from '../../ports/codec.ts'
import { createFactory } from '../../testing/factories.ts'
import { createSealing } from './sealing.ts'

const [k1, k2] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
const sealing = createSealing({ current: 'k1', keys: { k1 } })
const event = (payload: unknown, id = 'e1') =>
  createEvent(
    { id, type: 't', channel: 'c', payload, headers: { tenant: 'secret-tenant' } },
    { now: 5, newId: () => 'x' },
  )
const letter = (payload: unknown) =>
  createLetter({ event: event(payload), handler: 'h', reason: 'permanent', at: 9 })

function sealedLetter() {
  const error = Object.assign(new Error('login with hunter2 refused'), { name: 'LoginError' })
  const make = createFactory()
  const secret = make.event({
    key: 'cust-4711',
    idempotencyKey: 'idem-77',
    source: 'from-here',
    headers: { tenant: 'secret-tenant' },
    payload: { password: 'hunter2' },
  })
  const made = make.letter({ event: secret, error })
  const failure = { ...made.cycle.failure!, stack: 'LoginError: hunter2\n  at x' }
  const attempt = make.attempt(1, { failure: { ...failure, fingerprint: failure.fingerprint.id } })
  const cycle = { ...made.cycle, failure, attempts: [attempt] }
  const ended = [{ ...cycle, endedAt: 7 }]
  return letterFromJson(
    JSON.parse(encodeLetter({ ...made, cycle, endedCycles: ended, detail: { said: 'hunter2' } })),
  )
}

/** JSON knows no minus zero: a payload that has one is told as zero, sealed or not. */
const asJsonTells = fc.jsonValue().map(value => JSON.parse(JSON.stringify(value)) as unknown)

describe('sealing', () => {
  it('K9: what was sealed opens to exactly what it was, bytes included', () => {
    fc.assert(
      fc.property(fc.oneof(asJsonTells, fc.uint8Array()), payload => {
        const original = letter(payload)
        expect(sealing.letters.decode(sealing.letters.encode(original))).toEqual(original)
        expect(sealing.events.decode(sealing.events.encode(original.event))).toEqual(original.event)
      }),
    )
  })

  it('nothing of payload or headers can be read at rest, and two sealings differ', () => {
    const text = sealing.letters.encode(letter({ card: '4111111111111111' }))
    expect(text).not.toContain('4111111111111111')
    expect(text).not.toContain('secret-tenant')
    expect(sealing.letters.encode(letter({ card: '4111111111111111' }))).not.toBe(text)
  })

  it('B13: nothing of key, error, stack, attempts, detail or ended cycles can be read at rest', () => {
    const original = sealedLetter()
    const text = sealing.letters.encode(original)
    expect(text).not.toMatch(/hunter2|cust-4711|idem-77|secret-tenant|from-here/)
    expect(text).toContain('"name":"LoginError"')
    expect(sealing.letters.decode(text)).toEqual(original)
  })

  it('K9: a letter of the earlier form, with unencrypted errors, is read', () => {
    const original = sealedLetter()
    const event = JSON.parse(sealing.events.encode(original.event)) as unknown
    const earlier = JSON.stringify({ ...original, event })
    expect(earlier).toContain('"sealed":"1.k1.')
    expect(sealing.letters.decode(earlier)).toEqual(original)
  })

  it('the content of a letter cannot be decrypted in place of another handler’s', () => {
    const stored = JSON.parse(sealing.letters.encode(sealedLetter())) as { id: string }
    expect(() => sealing.letters.decode(JSON.stringify({ ...stored, id: 'another' }))).toThrow(
      'cannot be decrypted',
    )
  })

  it('a sealed text opens to the original, and an unencrypted text is read', () => {
    const texts = sealing.letters.texts!
    for (const text of ['', 'hunter2', '…\n"x"', 'sealed:1.k1.'])
      expect(texts.decode(texts.encode(text))).toBe(text)
    expect(texts.encode('hunter2')).toMatch(/^sealed:1\.k1\./)
    expect(texts.decode('plain: title')).toBe('plain: title')
  })

  it('after a key rotation, texts of the older key and unencrypted texts are read', () => {
    const old = sealing.letters.encode(letter('old'))
    const clear = plainCodec.letters.encode(letter('clear'))
    const rotated = createSealing({ current: 'k2', keys: { k1, k2 } })
    expect(rotated.letters.decode(old).event.payload).toBe('old')
    expect(rotated.letters.decode(clear).event.payload).toBe('clear')
    expect(rotated.letters.encode(letter('new'))).toContain('"sealed":"2.k2.')
  })

  it('K9: a sealed letter or event is refused without the codec, and not read as empty', () => {
    const problem = /event e1 is sealed with key 'k1'.*createSealing/
    expect(() => plainCodec.letters.decode(sealing.letters.encode(letter('x')))).toThrow(problem)
    expect(() => plainCodec.events.decode(sealing.events.encode(event('x')))).toThrow(problem)
  })

  it('a missing key, a wrong key and a changed text are clear errors', () => {
    const text = sealing.letters.encode(letter('x'))
    const other = createSealing({ current: 'k2', keys: { k2 } })
    expect(() => other.letters.decode(text)).toThrow(
      "sealed with key 'k1', which is not among the given keys",
    )
    expect(() => createSealing({ current: 'k1', keys: { k1: k2 } }).letters.decode(text)).toThrow(
      'cannot be decrypted',
    )
    expect(() => sealing.letters.decode(text.replace('"id":"e1"', '"id":"e2"'))).toThrow(
      'cannot be decrypted',
    )
  })

  it('bad keys are all reported at once, and never shown', () => {
    const short = Buffer.from('too short').toString('base64')
    const make = () => createSealing({ current: 'gone', keys: { 'no good': k1, short } })
    expect(make).toThrow(/keys\.no good[\s\S]*keys\.short[\s\S]*current/)
    expect(make).not.toThrow(short)
  })
})
