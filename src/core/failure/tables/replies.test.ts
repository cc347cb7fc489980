import { describe, expect, it } from 'vitest'
import { classify } from '../classify.ts'

const redis = (message: string) => classify(Object.assign(new Error(message), { name: 'ReplyError' }))

describe('Redis replies', () => {
  it.each([
    ...'LOADING BUSY TRYAGAIN CLUSTERDOWN MASTERDOWN READONLY NOREPLICAS NOGOODSLAVE UNBLOCKED MOVED ASK IOERR'
      .split(' ')
      .map(word => [word, 'transient', true] as const),
    ...'OOM MISCONF NOAUTH WRONGPASS NOSCRIPT'.split(' ').map(word => [word, 'integration', true] as const),
    ...'NOPERM WRONGTYPE CROSSSLOT EXECABORT NOGROUP NOPROTO'
      .split(' ')
      .map(word => [word, 'integration', false] as const),
    ...'BUSYGROUP BUSYKEY'.split(' ').map(word => [word, 'business', false] as const),
  ])('F2/S3: %s is %s, retryable %s', (word, category, retryable) => {
    const classification = { category, retryable, decidedBy: 'redis-reply' }
    expect(redis(`${word} some words about it`)).toMatchObject(classification)
    expect(redis(word)).toMatchObject(classification)
  })

  it('F2/S3: too many clients is transient, any other ERR is unknown', () => {
    expect(redis('ERR max number of clients reached')).toMatchObject({ category: 'transient' })
    expect(redis('ERR syntax error').decidedBy).toBe('unknown')
  })

  it('F2/S3: a reply is known by its class when it has no name, and words alone are not a reply', () => {
    class ErrorReply extends Error {}
    expect(classify(new ErrorReply('LOADING data')).decidedBy).toBe('redis-reply')
    expect(classify(new Error('BUSY signal')).decidedBy).toBe('unknown')
  })
})

const AMQP = [
  [311, 'CONTENT_TOO_LARGE', 'schema', false],
  [312, 'NO_ROUTE', 'integration', true],
  [313, 'NO_CONSUMERS', 'transient', true],
  [320, 'CONNECTION_FORCED', 'transient', true],
  [402, 'INVALID_PATH', 'integration', false],
  [403, 'ACCESS_REFUSED', 'integration', true],
  [404, 'NOT_FOUND', 'integration', true],
  [405, 'RESOURCE_LOCKED', 'transient', true],
  [406, 'PRECONDITION_FAILED', 'integration', false],
  [501, 'FRAME_ERROR', 'integration', false],
  [502, 'SYNTAX_ERROR', 'integration', false],
  [503, 'COMMAND_INVALID', 'integration', false],
  [504, 'CHANNEL_ERROR', 'transient', true],
  [505, 'UNEXPECTED_FRAME', 'transient', true],
  [506, 'RESOURCE_ERROR', 'transient', true],
  [530, 'NOT_ALLOWED', 'integration', true],
  [540, 'NOT_IMPLEMENTED', 'integration', false],
  [541, 'INTERNAL_ERROR', 'integration', true],
] as const

describe('AMQP replies', () => {
  it.each(AMQP)('F2/S3: %s %s is %s, retryable %s', (code, name, category, retryable) => {
    const classification = { category, retryable, decidedBy: 'amqp-reply' }
    const onChannel = Object.assign(new Error('closed'), { code, classId: 50, methodId: 10 })
    expect(classify(onChannel)).toMatchObject(classification)
    const text = `Connection closed: ${code} (${name.replaceAll('_', '-')}) with message "x"`
    expect(classify(Object.assign(new Error(text), { code }))).toMatchObject(classification)
    expect(classify(Object.assign(new Error('x'), { name: 'AMQPChannelError', code: name }))).toMatchObject(
      classification,
    )
  })

  it('F2/S3: a number or a word without a mark of AMQP is not a reply', () => {
    expect(classify({ code: 404, message: 'x' }).decidedBy).toBe('unknown')
    expect(classify({ code: 'NOT_FOUND', message: 'x' }).decidedBy).toBe('unknown')
  })
})
