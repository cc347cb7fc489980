import { describe, expect, it } from 'vitest'
import { Faults } from './faults.ts'
import { show, withoutCredentials } from './show.ts'

describe('showing a value', () => {
  it('F7: says in a few words what was received', () => {
    class Thing {}
    const shown = [
      undefined,
      null,
      5,
      5n,
      true,
      'a\nb',
      () => 1,
      [1, 2],
      {},
      new Thing(),
      Object.create(null),
    ]
    expect(shown.map(show)).toEqual([
      'undefined',
      'null',
      '5',
      '5n',
      'true',
      '"a\\nb"',
      'a function',
      'an array of 2',
      'an object',
      'an object of class Thing',
      'an object',
    ])
  })

  it('F7: is never longer than 60 characters and never throws', () => {
    expect(show('x'.repeat(1e6))).toHaveLength(60)
    const hostile = new Proxy(
      {},
      {
        get() {
          throw new Error('no')
        },
      },
    )
    expect(show(hostile)).toBe('a value that cannot be read')
  })

  it.each([
    ['amqp://user:secret@host/vhost', 'amqp://***@host/vhost'],
    ['redis://:secret@host:6379', 'redis://***@host:6379'],
    ['https://public@sentry.example/42', 'https://***@sentry.example/42'],
    ['postgres://user:p@ss@host/db', 'postgres://***@host/db'],
    ['amqp://user:pa/ss@host', 'amqp://***@host'],
    ['amqp://user:pa#ss@host', 'amqp://***@host'],
    ['nats://a:1@one,nats://b:2@two', 'nats://***@two'],
    ['refused: amqp://u:p@one and amqp://u:p@two', 'refused: amqp://***@one and amqp://***@two'],
    ['postgres://host/db?user=u&password=secret&ssl=1', 'postgres://host/db?user=u&password=***&ssl=1'],
    ['https://host/push?access_token=abc#top', 'https://host/push?access_token=***#top'],
    ['https://host/path?limit=5', 'https://host/path?limit=5'],
    ['mail bob@example.com', 'mail bob@example.com'],
  ])('F7: %s is shown as %s', (given, shown) => {
    expect(withoutCredentials(given)).toBe(shown)
  })

  it('F7: a secret is not cut into view by the length limit', () => {
    expect(show(`amqp://user:${'s'.repeat(100)}@host`)).toBe('"amqp://***@host"')
  })

  it('F7: a long text made to be slow is not', { timeout: 60_000 }, () => {
    for (const piece of ['a.', '://', '?token', '@', 'a://b@']) {
      expect(withoutCredentials(piece.repeat(200_000))).toBeTruthy()
    }
  })

  it('F7: the text of an option that is named like a secret is not shown, mistyped names included', () => {
    const faults = new Faults()
    for (const name of ['password', 'pasword', 'authToken', 'API_KEY', 'secret[0]']) {
      faults.add(`sink.${name}`, 'hunter2', 'unknown option')
    }
    faults.add('sink.token', undefined, 'give a string')
    faults.add('tokens.name', 'visible', 'give another')
    expect(faults.list.slice(0, 5).every(fault => !fault.received.includes('hunter2'))).toBe(true)
    expect(faults.list.slice(5).map(fault => fault.received)).toEqual(['undefined', '"visible"'])
  })
})
