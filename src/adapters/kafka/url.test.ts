import { describe, expect, it } from 'vitest'
import { optionsOfUrl } from './url.ts'

describe('a URL of Kafka', () => {
  it.each([
    ['kafka://localhost', { brokers: ['localhost:9092'] }],
    ['kafka://a:1,b,c:3/', { brokers: ['a:1', 'b:9092', 'c:3'] }],
    ['kafkas://a:1', { brokers: ['a:1'], tls: {} }],
    [
      'kafkas://an%40n:p%3Aw@a:1?sasl=plain',
      { brokers: ['a:1'], tls: {}, sasl: { mechanism: 'PLAIN', username: 'an@n', password: 'p:w' } },
    ],
    [
      'kafka://ann:pw@a:1',
      { brokers: ['a:1'], sasl: { mechanism: 'SCRAM-SHA-512', username: 'ann', password: 'pw' } },
    ],
  ])('F7: %s is read', (url, options) => {
    expect(optionsOfUrl(url)).toEqual(options)
  })

  it.each([
    'kafka://',
    'amqp://a',
    'kafka://ann:hunter2@a?sasl=magic',
    'kafka://hunter2@a',
    'kafka://a?x=1',
    'kafka://a:b:%ff@a',
  ])('F7: %s is refused without showing it', url => {
    expect(() => optionsOfUrl(url)).toThrow("give a URL such as 'kafka://host:9092,other:9092'")
    expect(() => optionsOfUrl(url)).not.toThrow('hunter2')
  })
})
