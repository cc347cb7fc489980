import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { letterId } from '../dead-letter/identity.ts'
import type { LazaretEvent } from './event.ts'
import { REPLAY_HEADERS, redirectedFrom, replayOf, withoutForeignReplay } from './replay-headers.ts'

const make = createFactory()

function replayed(event: LazaretEvent, more: Readonly<Record<string, string>> = {}): LazaretEvent {
  const headers = {
    trace: 'kept',
    [REPLAY_HEADERS.replayed]: 'true',
    [REPLAY_HEADERS.originalId]: event.id,
    [REPLAY_HEADERS.replayId]: 'r1',
    [REPLAY_HEADERS.replayAttempt]: '2',
    [REPLAY_HEADERS.letterId]: letterId(event.channel, 'bill', event),
    [REPLAY_HEADERS.handler]: 'bill',
    [REPLAY_HEADERS.idempotencyKey]: event.idempotencyKey,
    ...more,
  }
  return { ...event, headers }
}

describe('replay headers', () => {
  it('B14: an event is a replay only under its own id', () => {
    const event = replayed(make.event())
    const id = letterId(event.channel, 'bill', event)
    expect(replayOf(event)).toEqual({ attempt: 2, replayId: 'r1', letterId: id, handler: 'bill' })
    expect(replayOf(make.event({ headers: event.headers }))).toBeUndefined()
  })

  it('B14: incomplete headers are not a replay', () => {
    const event = make.event()
    for (const attempt of ['', '0', '-1', '1.5', 'two', '1e400'])
      expect(replayOf(replayed(event, { [REPLAY_HEADERS.replayAttempt]: attempt }))).toBeUndefined()
    expect(replayOf({ ...event, headers: { [REPLAY_HEADERS.replayAttempt]: '1' } })).toBeUndefined()
    expect(replayOf({ ...event, headers: { [REPLAY_HEADERS.originalId]: event.id } })).toBeUndefined()
  })

  it('B14: what is published under another id, or forwarded to another channel, loses the headers of the replay', () => {
    const first = replayed(make.event())
    const followUp = make.event({ headers: first.headers })
    expect(withoutForeignReplay(followUp).headers).toEqual({ trace: 'kept' })
    expect(withoutForeignReplay({ ...first, channel: 'elsewhere' }).headers).toEqual({ trace: 'kept' })
  })

  it('B14: a replay keeps its headers, redirected and replayed by SQL too', () => {
    const first = replayed(make.event())
    const { [REPLAY_HEADERS.handler]: _handler, ...toAnother } = first.headers
    const redirected = { ...first, channel: 'elsewhere', headers: toAnother }
    const { [REPLAY_HEADERS.letterId]: _letter, [REPLAY_HEADERS.replayId]: _id, ...bySql } = first.headers
    for (const event of [first, redirected, { ...first, headers: bySql }])
      expect(withoutForeignReplay(event)).toBe(event)
    expect(redirectedFrom(redirected)).toBe(first.headers[REPLAY_HEADERS.letterId])
    expect(redirectedFrom(first)).toBeUndefined()
  })

  it('keeps headers of other programs that happen to have such a name', () => {
    const event = make.event({
      headers: { [REPLAY_HEADERS.idempotencyKey]: 'k', [REPLAY_HEADERS.originalId]: 'theirs' },
    })
    expect(withoutForeignReplay(event)).toBe(event)
  })
})
