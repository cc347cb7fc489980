import { describe, expect, it } from 'vitest'
import type { ConsumerInfo, JetStream, StreamInfo } from '../../connection/jetstream.ts'
import { namesOf } from './names.ts'
import { haveRetriesRestarted, writeRetriesRecord } from './retries-record.ts'

const CREATED = '2026-01-01T00:00:00Z'
const CONSUMER = '2026-01-01T00:01:00Z'
const RECORDED = '2026-01-01T01:00:00Z'
const BEFORE = Date.parse(RECORDED) - 1
const AFTER = Date.parse(RECORDED) + 1
const NAMES = namesOf('orders', 'bill')

/** The stream had reached 1 000 when it was recorded. `messages` are those of the handler: the time of each by its sequence. */
async function look(
  messages: Readonly<Record<number, number>>,
  { created = CREATED, consumer = CONSUMER, isRecorded = true } = {},
): Promise<{ readonly hasRestarted: boolean; readonly questions: number }> {
  const { data } = writeRetriesRecord(NAMES, 'state', {
    created: CREATED,
    lastSequence: 1_000,
    lastStoredAt: Date.parse(RECORDED),
    consumerCreated: CONSUMER,
  })
  let questions = 0
  const jetstream = {
    message: async (stream: string, { seq = 0 }: { readonly seq?: number }) => {
      if (stream === NAMES.streams.state) return isRecorded ? { sequence: 1, data } : undefined
      questions++
      const sequence = Object.keys(messages)
        .map(Number)
        .find(each => each >= seq)
      return sequence === undefined ? undefined : { sequence, storedAt: messages[sequence] }
    },
  } as unknown as JetStream
  const last = Math.max(0, ...Object.keys(messages).map(Number))
  const found = {
    config: { name: NAMES.streams.retries },
    created,
    state: { messages: Object.keys(messages).length, last_seq: last },
  } as unknown as StreamInfo
  const hasRestarted = await haveRetriesRestarted(jetstream, NAMES, found, {
    created: consumer,
  } as ConsumerInfo)
  return { hasRestarted, questions }
}

describe('haveRetriesRestarted', () => {
  it('P1: a message with a recorded sequence that is younger than the record shows it', async () => {
    expect(await look({ 1: AFTER })).toMatchObject({ hasRestarted: true })
    expect(await look({ 1000: AFTER })).toMatchObject({ hasRestarted: true })
  })

  it('P1: finds a younger message behind all that wait since before the record, in few questions', async () => {
    for (const kept of [1, 2, 499, 500, 998, 999]) {
      const waiting = Object.fromEntries(Array.from({ length: kept }, (_, at) => [at + 1, BEFORE]))
      const { hasRestarted, questions } = await look({ ...waiting, [kept + 1]: AFTER, 5000: AFTER })
      expect(hasRestarted).toBe(true)
      expect(questions).toBeLessThan(15)
    }
  })

  it('B8: messages that the stream had then, and later ones, show nothing', async () => {
    expect(await look({})).toMatchObject({ hasRestarted: false })
    expect(await look({ 1: BEFORE, 7: BEFORE, 1000: Date.parse(RECORDED) })).toMatchObject({
      hasRestarted: false,
    })
    expect(await look({ 1001: AFTER })).toEqual({ hasRestarted: false, questions: 1 })
    expect(await look({ 3: BEFORE, 1001: AFTER })).toMatchObject({ hasRestarted: false })
  })

  it('B8: the record says nothing of another stream, and of a consumer that was made since', async () => {
    expect(await look({ 1: AFTER }, { created: AFTER.toString() })).toMatchObject({ hasRestarted: false })
    expect(await look({ 1: AFTER }, { consumer: RECORDED })).toMatchObject({ hasRestarted: false })
    expect(await look({ 1: AFTER }, { isRecorded: false })).toMatchObject({ hasRestarted: false })
  })
})
