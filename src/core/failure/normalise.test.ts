import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { normalise } from './normalise.ts'

describe('the normalised message', () => {
  it.each([
    ['order 123 not found', 'order # not found'],
    ['order -5, total 1,234.50 or 2e10', 'order #, total # or #'],
    ['order-123 of ORD-2024-001 in v2', 'order-# of ORD-#-# in v#'],
    ['took 1500ms of 30s at 50%', 'took #ms of #s at #%'],
    ['user 550e8400-e29b-41d4-a716-446655440000', 'user #'],
    ['user 00000000-0000-1000-8000-000000000000', 'user #'],
    ['trace 4bf92f3577b34da6a3ce929d0e0e4736 span deadbeef', 'trace # span #'],
    ['span deadbeef', 'span #'],
    ['id 01ARZ3NDEKTSV4RRFFQ69G5FAV at 0x7ffe12', 'id # at #'],
    ['customer cus_9s6XKzkNRiz8i3 gone', 'customer # gone'],
    ['mail to a.b+c@example.com failed', 'mail to <email> failed'],
    ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED <address>'],
    ['connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED <address>'],
    ['connect to [2001:db8::1]:443 failed', 'connect to <address> failed'],
    ['connect localhost:5432', 'connect localhost:#'],
    ['since 2026-05-01T12:00:00.123Z', 'since <time>'],
    ['on 2026-05-01 12:00:00+02:00 and 2026-05-01', 'on <time> and <time>'],
    ['at Fri, 01 May 2026 12:00:30 GMT', 'at <time>'],
    ['at Fri May 01 2026 12:00:30 GMT+0200 (Central European Summer Time)', 'at <time>'],
    ['at 12:00:30 sharp', 'at <time> sharp'],
    [`key "a" or 'b' or \`c\` or “d” is bad`, 'key <value> or <value> or <value> or <value> is bad'],
    ["can't read what isn't there", "can't read what isn't there"],
    ['open /var/lib/app/x1.db failed', 'open <path> failed'],
    ['open C:\\data\\x.db failed', 'open <path> failed'],
    ['read and/or write', 'read and/or write'],
    [
      'GET https://u:p@api.shop.io/orders/123/lines?page=2#x failed',
      'GET https://api.shop.io/orders/#/lines failed',
    ],
    ['amqp://10.0.0.7:5672 is away', 'amqp://#.#.#.#:# is away'],
    ['several\n  lines\tof  it ', 'several lines of it'],
    ['std::vector overflow', 'std::vector overflow'],
  ])('B4: %s', (message, expected) => {
    expect(normalise(message)).toBe(expected)
  })

  const hex = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 8, maxLength: 64 })
  const quoted = fc.string({ unit: fc.constantFrom(...'abz 019-_/.'), maxLength: 30 })
  const variable: Record<string, fc.Arbitrary<string>> = {
    'a whole number': fc.integer().map(String),
    'a fraction': fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    'a UUID': fc.uuid(),
    'a ULID': fc.ulid(),
    'a hex id': hex,
    'an IPv4 address': fc.ipV4(),
    'a quoted value': quoted.map(text => `'${text}'`),
    'an email address': fc
      .tuple(fc.stringMatching(/^[a-z][a-z0-9.]{0,20}$/), fc.stringMatching(/^[a-z]{1,20}\.com$/))
      .map(parts => parts.join('@')),
    'a time': fc
      .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
      .map(date => date.toISOString()),
    'a folder': fc
      .array(fc.stringMatching(/^[a-z0-9.]{1,12}$/), { minLength: 2, maxLength: 8 })
      .map(parts => `/${parts.join('/')}`),
  }
  for (const [what, values] of Object.entries(variable)) {
    it(`B4: ${what} may change without changing the message`, () => {
      fc.assert(
        fc.property(values, values, (one, other) => {
          expect(normalise(`cannot handle ${one} now`)).toBe(normalise(`cannot handle ${other} now`))
        }),
      )
    })
  }

  it('B4: an id that ends like a unit is an id', () => {
    expect(normalise('cannot handle 0000000000000000000000000S now')).toBe('cannot handle # now')
    expect(normalise('took 250ms')).toBe('took #ms')
  })

  it('B4: words stay, so different words stay different', () => {
    const words = fc.array(fc.stringMatching(/^[g-z]{1,12}$/), { minLength: 1, maxLength: 10 })
    fc.assert(
      fc.property(words, list => {
        expect(normalise(list.join(' '))).toBe(list.join(' ').slice(0, 200))
      }),
    )
  })

  it('B4: whatever the message, the text stays within its bound', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 3_000, unit: 'binary' }), message => {
        expect(normalise(message).length).toBeLessThanOrEqual(200)
      }),
    )
  })

  it('B4: a message made to exhaust the patterns is read within a blink', () => {
    const parts = [
      '“',
      '1.',
      'a-',
      '/a',
      'a:',
      'a@',
      'a://',
      "'a",
      '[::',
      '1e',
      '1_',
      '%',
      '"',
      'a.',
      ' (',
      '::1',
    ]
    const startedAt = process.hrtime.bigint()
    for (const part of parts) normalise(part.repeat(1_000_000))
    expect(Number(process.hrtime.bigint() - startedAt) / 1e6).toBeLessThan(2_000)
  })
})
