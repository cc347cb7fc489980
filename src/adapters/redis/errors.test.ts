import { describe, expect, it } from 'vitest'
import { isReplyError, RedisError } from './errors.ts'
import { openRedis } from './index.ts'

class SimpleError extends Error {}

describe('an error of Redis', () => {
  it.each([
    ["OOM command not allowed when used memory > 'maxmemory'.", 'OOM', 'raise maxmemory'],
    // As a server before version 7 tells of a command in a script.
    [
      "ERR Error running script (call to f_6b1b): @user_script:12: @user_script: 12: -READONLY You can't write against a read only replica.",
      'READONLY',
      'connect to the primary',
    ],
    ['NOAUTH Authentication required.', 'NOAUTH', 'give a password'],
    ['CLUSTERDOWN Hash slot not served', 'CLUSTERDOWN', 'cluster check'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'TRYAGAIN', 'when the move is complete'],
    ['ERR unknown command', 'ERR', 'check the cause'],
  ])('F2/S3: %s', (said, reply, remedy) => {
    const error = new RedisError('saving a dead letter', 'reply', new SimpleError(said))
    expect(error.reply).toBe(reply)
    expect(error.message).toContain(`redis: saving a dead letter: ${said}; `)
    expect(error.message).toContain(remedy)
    expect(isReplyError(error.cause)).toBe(true)
  })

  it('F2/S3: trying again helps against all but what is refused for good', () => {
    const saying = (said: string) => new RedisError('x', 'reply', new SimpleError(said)).retryable
    expect(['OOM x', 'LOADING x', 'READONLY x', 'NOAUTH x', 'CLUSTERDOWN x'].map(saying)).not.toContain(false)
    expect(['NOPERM x', 'WRONGTYPE x', 'CROSSSLOT x'].map(saying)).not.toContain(true)
    expect(new RedisError('x', 'lost', new Error('Socket closed')).retryable).toBe(true)
  })

  it('F7: shows no password of a URL', () => {
    const { message } = new RedisError('x', 'lost', new Error('cannot reach redis://u:secret@host/0'))
    expect(message).not.toContain('secret')
  })
})

describe('the URL of Redis', () => {
  it.each([
    'redis://:secret@host:6379/abc',
    'redis://:secret@host/0/1',
    'http://:secret@host',
    'redis://:secret%E0%A4%A@host',
  ])('F2, F7: %s is refused with the remedy, and without its password', url => {
    expect(() => openRedis({ url })).toThrow(/url: .*its path is the number of the database/)
    expect(() => openRedis({ url })).not.toThrow(/secret/)
  })
})
