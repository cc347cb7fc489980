import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { createLetter } from './create.ts'
import { masksOfEvent } from './event-masks.ts'
import { DISPLAY_MAX_NODES, maskForDisplay } from './mask.ts'
import { maskLetter } from './mask-letter.ts'
import { createMasks } from './masks.ts'

const make = createFactory()
const only = (...paths: string[]) => createMasks({ paths, defaults: false })

describe('masking by place', () => {
  const value = {
    payload: { card: { number: '4', type: 'visa' } },
    items: [{ token: 'a', n: 1 }, { token: 'b' }],
  }

  it.each([
    ['payload.card.number', { ...value, payload: { card: { number: '***', type: 'visa' } } }],
    ['payload.card', { ...value, payload: { card: '***' } }],
    ['*.card', { ...value, payload: { card: '***' } }],
    ['items[*].token', { ...value, items: [{ token: '***', n: 1 }, { token: '***' }] }],
    ['items[1].token', { ...value, items: [{ token: 'a', n: 1 }, { token: '***' }] }],
    ['items.*.n', { ...value, items: [{ token: 'a', n: '***' }, { token: 'b' }] }],
    ['**.token', { ...value, items: [{ token: '***', n: 1 }, { token: '***' }] }],
    ['**.card.**.type', { ...value, payload: { card: { number: '4', type: '***' } } }],
    ['payload.**', { ...value, payload: '***' }],
    ['**.{card,none}.type', { ...value, payload: { card: { number: '4', type: '***' } } }],
    ['{items,none}[*].token', { ...value, items: [{ token: '***', n: 1 }, { token: '***' }] }],
    ['**', '***'],
    ['payload[*]', value],
    ['number', value],
  ])('P2: %s', (path, expected) => {
    expect(maskForDisplay(value, only(path))).toEqual(expected)
  })

  it('P2: **.a reaches the first level too', () => {
    expect(maskForDisplay({ a: 1, b: [{ a: 2 }] }, only('**.a'))).toEqual({ a: '***', b: [{ a: '***' }] })
  })

  it('F7: invalid paths, names and expressions are refused, all in one error', () => {
    const wrong = {
      paths: ['', 'a..b', '.a', 'a.', 'a[b]', 'a[', 'a]b'],
      names: ['_'],
      patterns: ['x'],
    } as never
    expect(() => createMasks(wrong)).toThrow(/9 faults/)
  })

  it('P2: many deep wildcards do not multiply', () => {
    let deep: unknown = 'x'
    for (let level = 0; level < 60; level++) deep = { a: deep }
    const masks = only(`${'**.a.'.repeat(20)}b`)
    expect(JSON.stringify(maskForDisplay(deep, masks))).toContain('"x"')
  })
})

describe('masking by name and looks', () => {
  it.each([
    'password',
    'PASSWORD',
    'user_password',
    'clientSecret',
    'access-token',
    'tokens',
    'Set-Cookie',
    'x-api-key',
    'pin',
    'password2',
    'pin_1',
    'passwordHash',
    'ｐａｓｓｗｏｒｄ',
    'PÁSSWORD',
    'ıban',
  ])('P2: the value of %s is masked whatever it is', name => {
    for (const secret of ['s', 5, true, ['s'], { a: 's' }]) {
      expect(maskForDisplay({ [name]: secret })).toEqual({ [name]: '***' })
    }
  })

  it('P2: names that only resemble them are not, and null is shown', () => {
    const plain = { tokenCount: 1, shipping: 's', japan: 'j', author: 'a', monkey: 'm', password: null }
    expect(maskForDisplay(plain)).toEqual(plain)
  })

  it.each([
    ['Bearer abc.def-ghi', 'Bearer ***'],
    ['Authorization: ApiKey abc def', 'Authorization: ***'],
    ['jwt eyJhbGciOi.eyJzdWIi.sig_-1 end', 'jwt *** end'],
    ['mail ann.smith+x@mail.example.com now', 'mail *** now'],
    ['amqp://user:p@ss/word@host:5672/x', 'amqp://***@host:5672/x'],
    ['failed: password=hunter2, retry', 'failed: password=***, retry'],
    ['{"client_secret":"a b \' c","x":1}', '{"client_secret":"***","x":1}'],
    ['{\\"password\\":\\"a b\\"}', '{\\"password\\":***}'],
    ['GET /?api_key=abc&x=1', 'GET /?api_key=***&x=1'],
    ['card 4111 1111 1111 1111 used', 'card *** used'],
    ['2 4111-1111-1111-1111', '2 ***'],
    ['x4111111111111111x', 'x***x'],
    ['4111111111111112', '4111111111111112'],
    ['1700000000000000', '1700000000000000'],
    [
      'Connection refused by 10.0.0.1:5432 after 3 attempts',
      'Connection refused by 10.0.0.1:5432 after 3 attempts',
    ],
  ])('P2: %s', (text, expected) => {
    expect(maskForDisplay(text)).toBe(expected)
  })

  it('P2: a card number is masked when it is a number, and when it is a name', () => {
    const value = { a: 4111111111111111, '4111111111111111': 1, '5500 0000 0000 0004': 2, b: 12 }
    expect(maskForDisplay(value)).toEqual({ '***': 1, '*** (3)': 2, a: '***', b: 12 })
  })

  it('P2: own names and expressions join the defaults, or stand alone', () => {
    const own = { names: ['tax_id'], patterns: [/\bKD-\d+/y] }
    const value = { taxId: 5, note: 'KD-1 and KD-22', password: 'x' }
    expect(maskForDisplay(value, createMasks(own))).toEqual({
      taxId: '***',
      note: '*** and ***',
      password: '***',
    })
    expect(maskForDisplay(value, createMasks({ ...own, defaults: false }))).toMatchObject({ password: 'x' })
  })
})

describe('masking of personal data', () => {
  const order = {
    customer: { name: 'Ann Smith', phone: 4930123456, country: 'DE' },
    user: { firstName: 'Ann', 'last-name': 'Smith', id: 7 },
    shipping: { street: 'Main Street 1', address_line_2: 'Floor 3', city: 'Berlin', phones: ['030 1'] },
    product: { name: 'Teapot' },
    name: 'order.placed',
    isMobile: true,
    ip_address: '10.0.0.1',
  }

  it('P2: names, phones and streets of people are masked, and nothing else', () => {
    expect(maskForDisplay({ payload: order })).toEqual({
      payload: {
        ...order,
        customer: { name: '***', phone: '***', country: 'DE' },
        user: { firstName: '***', 'last-name': '***', id: 7 },
        shipping: { street: '***', address_line_2: '***', city: 'Berlin', phones: '***' },
      },
    })
  })

  it.each([
    ['FirstName', { FirstName: 'Ada' }],
    ['CustomerName', { CustomerName: 'Ada' }],
    ['LAST_NAME', { LAST_NAME: 'Ada' }],
    ['Customer.Name', { Customer: { Name: 'Ada' } }],
    ['CUSTOMER.NAME', { CUSTOMER: { NAME: 'Ada' } }],
    ['customers[].name', { customers: [{ id: 1 }, { name: 'Ada' }] }],
    ['Customers[].Name', { Customers: [{ Name: 'Ada' }] }],
    ['passengers[].name', { booking: { passengers: [{ seat: '4A', name: 'Ada' }] } }],
    ['customer.names', { customer: { names: ['Ada'] } }],
    ['names', { names: ['Ada'] }],
    ['phones', { phones: ['Ada'] }],
    ['CustomerNames', { CustomerNames: ['Ada'] }],
    ['Cards[].Holder', { Cards: [{ Holder: 'Ada', brand: 'visa' }] }],
  ])('P2: however it is spelled, alone or in a list: %s', (_, payload) => {
    const event = { headers: {}, payload } as never
    expect(JSON.stringify(maskForDisplay(event))).not.toContain('Ada')
    expect(masksOfEvent(event, createMasks()).maskText('refused Ada twice')).toBe('refused *** twice')
  })

  it('P2: in headers and metadata too, however it is spelled', () => {
    const event = make.event({ headers: { 'X-Customer-Name': 'Ada', LAST_NAME: 'Ada', tenant: 'acme' } })
    const metadata = { Customer: { Name: 'Ada' }, guests: [{ name: 'Ada' }], team: 'billing' }
    const shown = maskLetter({ ...make.letter({ event }), metadata, detail: { users: [{ Name: 'Ada' }] } })
    expect(shown).toMatchObject({
      event: { headers: { 'X-Customer-Name': '***', LAST_NAME: '***', tenant: 'acme' } },
      metadata: { Customer: { Name: '***' }, guests: [{ name: '***' }], team: 'billing' },
      detail: { users: [{ Name: '***' }] },
    })
  })

  it('P2: names of other things stay visible', () => {
    const plain = {
      product: { Name: 'Teapot' },
      hosts: [{ name: 'db-1' }],
      fileNames: ['a.csv'],
      users: ['u-7'],
    }
    expect(maskForDisplay({ payload: plain })).toEqual({ payload: plain })
  })

  it('P2: a path of your own is taken as it is written', () => {
    const value = { Payload: { Card: 'x' }, payload: { card: 'y', Card: 'z' } }
    expect(maskForDisplay(value, only('payload.card'))).toEqual({
      ...value,
      payload: { card: '***', Card: 'z' },
    })
  })

  it.each([
    ['call +49 170 1234567 now', 'call *** now'],
    ['+1 (555) 010-4477', '***'],
    ['+4930123456.', '***.'],
    ['at 2026-05-04T03:12:09+02:00', 'at 2026-05-04T03:12:09+02:00'],
    ['1+123456789', '1+123456789'],
    ['offset +12 of 100000000', 'offset +12 of 100000000'],
  ])('P2: in a text a phone number begins with +: %s', (text, expected) => {
    expect(maskForDisplay(text)).toBe(expected)
  })

  it('P2: can be turned off alone, and is off with the defaults', () => {
    expect(maskForDisplay({ phone: 1, password: 2 }, createMasks({ personalData: false }))).toEqual({
      ...{ phone: 1, password: '***' },
    })
    expect(createMasks({ defaults: false }).hidesNothing).toBe(true)
    expect(
      maskForDisplay({ phone: 1, password: 2 }, createMasks({ defaults: false, personalData: true })),
    ).toEqual({
      ...{ phone: '***', password: 2 },
    })
  })

  it('P2: what an error quotes of it is masked too', () => {
    const event = { payload: order } as never
    const text = 'no courier for Ann Smith, Main Street 1'
    expect(masksOfEvent(event, createMasks()).maskText(text)).toBe('no courier for ***, ***')
  })

  it('P2: the rules say which masks apply', () => {
    const { rules } = createMasks({
      names: ['tax_id'],
      paths: ['payload.x'],
      patterns: [/KD-\d+/],
      personalData: false,
    })
    expect(rules).toMatchObject({
      secrets: { isActive: true },
      personalData: { isActive: false, names: expect.arrayContaining(['*first_name', '*phone', '*street']) },
      own: { isActive: true, names: ['tax_id'], paths: ['payload.x'], texts: ['/KD-\\d+/'] },
    })
  })
})

describe('masking whatever there is', () => {
  it('P2: bytes, cycles, depth, width and throwing getters are shown as such', () => {
    const cyclic: { self?: unknown } = {}
    cyclic.self = cyclic
    const throwing = Object.defineProperty({ a: 1 }, 'b', { enumerable: true, get: () => JSON.parse('') })
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const value = { bytes: new Uint8Array(3), cyclic, throwing, proxy, fn: () => 1, big: 1n, nan: Number.NaN }
    expect(maskForDisplay(value)).toEqual({
      bytes: '[3 bytes]',
      cyclic: { self: '[circular]' },
      throwing: { a: 1, b: '[unreadable]' },
      proxy: '[unreadable]',
      fn: '[function]',
      big: '1',
      nan: 'NaN',
    })
    const deep: unknown = JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`)
    expect(JSON.stringify(maskForDisplay(deep))).toContain('[deeper]')
    const wide = maskForDisplay(new Array(1e9)) as unknown[]
    expect(wide).toHaveLength(DISPLAY_MAX_NODES + 1)
  })

  it('P2: JSON in a text is masked by path and name too, and an error that quotes it hides the same', () => {
    const inner = { customer: { name: 'Ada Lovelace' }, amount: 7 }
    const shown = '{"customer":{"name":"***"},"amount":7}'
    for (const payload of [JSON.stringify(inner), { Message: JSON.stringify(inner) }]) {
      const masked = JSON.stringify(maskForDisplay({ payload }))
      expect(masked).toContain(JSON.stringify(shown))
      expect(masksOfEvent({ payload } as never, createMasks()).maskText('no Ada Lovelace')).toBe('no ***')
    }
    const plain = { a: '{ "b":  1 }', c: '[1, 2]', d: '{no json' }
    expect(maskForDisplay(plain), 'the rest stays as it is').toEqual(plain)
  })

  it.each([
    ['in a text', JSON.stringify(JSON.stringify({ iban: 'DE-4711' })), JSON.stringify('{"iban":"***"}')],
    ['after the mark of a file', '\ufeff{"iban":"DE-4711"}', '{"iban":"***"}'],
    ['line by line', '{"n":1}\n{"iban":"DE-4711"}\r\n', '{"n":1}\n{"iban":"***"}\n'],
  ])('P2: JSON %s is masked by name too, and an error that quotes it', (_, text, shown) => {
    expect(maskForDisplay({ text })).toEqual({ text: shown })
    expect(masksOfEvent({ payload: { text } } as never, createMasks()).maskText('no DE-4711')).toBe('no ***')
  })

  it.each([
    '{"password":"Ada Lovelace"}',
    ' \n{"password":"Ada Lovelace"}',
    '\ufeff{"password":"Ada Lovelace"}',
  ])('P2: an error that quotes JSON in bytes hides what is masked there: %j', json => {
    const bytes = Buffer.from(json)
    for (const payload of [bytes, { content: bytes }, { content: bytes.toJSON() }])
      expect(masksOfEvent({ payload } as never, createMasks()).maskText('no Ada Lovelace')).toBe('no ***')
  })

  it('P2: bytes are shown as their number also in the form that JSON gives a buffer', () => {
    const content = JSON.parse(JSON.stringify(Buffer.from('{"password":"hunter2"}')))
    expect(maskForDisplay({ content })).toEqual({ content: '[22 bytes]' })
    const other = { type: 'Buffer', data: ['a', 1] }
    expect(maskForDisplay(other), 'not bytes').toEqual(other)
  })

  it('P2: a property named __proto__ is shown as one', () => {
    const shown = maskForDisplay(JSON.parse('{"__proto__":{"a":1}}')) as object
    expect(Object.keys(shown)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(shown)).toBe(Object.prototype)
  })

  it('P2: a letter is masked wholly, with paths taken from its event on', () => {
    const event = { v: 1, id: 'e', type: 't', channel: 'c', idempotencyKey: 'e', occurredAt: 1 } as const
    const full = { ...event, headers: { authorization: 'x' }, payload: { iban: 'y', name: 'Ann' } }
    const letter = createLetter({
      event: full,
      handler: 'h',
      reason: 'permanent',
      at: 1,
      detail: { note: 'a@b.c' },
    })
    const shown = maskLetter(letter, createMasks({ paths: ['payload.name'] }))
    expect(shown).toMatchObject({
      id: letter.id,
      detail: { note: '***' },
      event: { id: 'e', headers: { authorization: '***' }, payload: { iban: '***', name: '***' } },
    })
    expect(letter.event).toBe(full)
  })

  it('P2: keys and headers of a letter hide what they repeat of a masked value, and the payload stays as it is', () => {
    const event = make.event({
      key: 'crm/Ada Lovelace',
      idempotencyKey: 'Ada Lovelace/7',
      source: '/crm/Ada%20Lovelace',
      headers: { 'x-exception': 'no courier for Ada Lovelace' },
      payload: { customer: { name: 'Ada Lovelace' }, ship: 'SS Ada Lovelace' },
    })
    expect(maskLetter(make.letter({ event }))).toMatchObject({
      event: {
        ...{ key: 'crm/***', idempotencyKey: '***/7', source: '/crm/***' },
        headers: { 'x-exception': 'no courier for ***' },
        payload: { customer: { name: '***' }, ship: 'SS Ada Lovelace' },
      },
    })
    expect(maskLetter(make.letter({ event }), only('**'))).toMatchObject({ event: { payload: '***' } })
  })

  it('P2: paths reach the metadata and the detail of a letter by their names', () => {
    const letter = { ...make.letter({}), metadata: { desk: { seat: 4 }, team: 'a' }, detail: { limit: 5 } }
    const shown = maskLetter(letter, only('metadata.desk.seat', 'detail.*'))
    expect(shown).toMatchObject({ metadata: { desk: { seat: '***' }, team: 'a' }, detail: { limit: '***' } })
    expect(maskLetter(letter, only('metadata'))).toMatchObject({ metadata: {}, detail: { limit: 5 } })
  })
})
