import { describe, expect, it } from 'vitest'
import type { JetStream } from '../../connection/jetstream.ts'
import { type OutdatedConsumer, remakeConsumersAhead } from './restarted-streams.ts'

const SOON_BEFORE_CREATED = '2025-12-31T23:59:59.8Z'
const CREATED = '2026-01-01T00:00:00Z'
const SOON_AFTER_CREATED = '2026-01-01T00:00:00.1Z'
const BEFORE = '2026-01-01T00:01:00Z'
/** The time of the same consumer, as a server of 2.9 gives it after its restart. */
const BEFORE_AS_OF_2_9 = '2026-01-01T00:01:00.002Z'
const AFTER = '2026-01-01T00:02:00Z'

/** A handler had settled 5 events. The stream now has `last` events, the first of which was stored at `firstAt`. */
function server({
  last,
  firstAt,
  replicas = 1,
  retention = 'interest',
  isOtherFaster = false,
  isKilled = false,
  consumer = BEFORE,
  settled = 5,
  delivered = settled,
  recorded = undefined,
}: {
  last: number
  firstAt: string
  replicas?: number
  retention?: string
  isOtherFaster?: boolean
  /** The process dies when it has removed the consumer. */
  isKilled?: boolean
  /** When the consumer was made. */
  consumer?: string
  /** How far it has settled, as it says itself. */
  settled?: number
  /** How far it has delivered [what it has settled]. */
  delivered?: number
  /** When the consumer was made that the record is about. */
  recorded?: string | undefined
}) {
  const done: string[] = []
  const at = (stream_seq: number) => ({ stream_seq, consumer_seq: stream_seq })
  const bill = { settled, delivered, created: consumer }
  let record: string | undefined = JSON.stringify({
    created: CREATED,
    settledTo: 5,
    lastStoredAt: Date.parse(BEFORE),
    consumerCreated: recorded,
  })
  const jetstream = {
    streamInfo: async (name: string) => ({
      config: { name, retention, num_replicas: replicas },
      created: CREATED,
      state: { messages: last, first_seq: 1, first_ts: firstAt, last_seq: last },
    }),
    consumerNames: async () => ['bill'],
    consumerInfo: async (stream: string) =>
      stream === 'ORDERS'
        ? {
            name: 'bill',
            config: {},
            created: bill.created,
            delivered: at(bill.delivered),
            ack_floor: at(bill.settled),
          }
        : undefined,
    message: async () => (record === undefined ? undefined : { sequence: 1, data: Buffer.from(record) }),
    publish: async (_: string, written: string) => {
      record = written
    },
    createTemporaryConsumer: async () => {
      if (isOtherFaster) bill.created = AFTER
      return 'guard'
    },
    deleteConsumer: async (_: string, name: string) => void done.push(`delete ${name}`),
    createConsumer: async (_: string, config: Record<string, string>) => {
      if (isKilled) throw new Error('killed')
      const { durable_name, deliver_policy, opt_start_seq } = config
      done.push(['create', durable_name, deliver_policy, opt_start_seq].join(' ').trim())
      bill.settled = bill.delivered = 0
    },
  } as unknown as JetStream
  return {
    done,
    record: () => JSON.parse(record!),
    look: (outdated?: readonly OutdatedConsumer[]) => remakeConsumersAhead(jetstream, 'orders', outdated),
  }
}

const REMADE = ['delete bill', 'create bill all', 'delete guard']

describe('remakeConsumersAhead', () => {
  it('P1: makes a consumer again that is ahead of its stream', async () => {
    const { done, look } = server({ last: 3, firstAt: AFTER })
    await look()
    expect(done).toEqual(REMADE)
  })

  it('P1: makes a consumer again, once, if publishers have passed it since the stream counts from 1 again', async () => {
    const { done, look } = server({ last: 8, firstAt: AFTER })
    await look()
    expect(done).toEqual(REMADE)
    await look()
    expect(done).toEqual(REMADE)
  })

  it('P1: a process that dies in between leaves the record of another stream, so that the next consumer begins with all', async () => {
    const { look, record } = server({ last: 3, firstAt: AFTER, isKilled: true })
    await expect(look()).rejects.toThrow('killed')
    expect(record()).toMatchObject({ created: '', settledTo: 0 })
  })

  it('P1: makes a consumer again, once, that a subscription knows from before its stream counts from 1 again', async () => {
    const { done, look } = server({ last: 8, firstAt: AFTER, settled: 1 })
    await look()
    expect(done).toEqual([])
    await look([{ stream: 'ORDERS', consumer: 'bill', created: BEFORE }])
    expect(done).toEqual(REMADE)
  })

  it('P1: recognises the consumer although its server gives another time after the restart', async () => {
    const known = server({ last: 8, firstAt: AFTER, settled: 1, consumer: BEFORE_AS_OF_2_9 })
    await known.look([{ stream: 'ORDERS', consumer: 'bill', created: BEFORE }])
    expect(known.done).toEqual(REMADE)
    const recorded = server({ last: 8, firstAt: AFTER, recorded: BEFORE, consumer: BEFORE_AS_OF_2_9 })
    await recorded.look()
    expect(recorded.done).toEqual(REMADE)
  })

  it('P1: leaves a consumer that is not the one which a subscription knows', async () => {
    const { done, look } = server({ last: 8, firstAt: AFTER, settled: 1, consumer: AFTER })
    await look([{ stream: 'ORDERS', consumer: 'bill', created: BEFORE }])
    expect(done).toEqual([])
  })

  it('P1: leaves a consumer of a stream that was deleted and made again within a second', async () => {
    const { done, look } = server({ last: 8, firstAt: AFTER, settled: 1, consumer: SOON_AFTER_CREATED })
    await look([{ stream: 'ORDERS', consumer: 'bill', created: SOON_BEFORE_CREATED }])
    expect(done).toEqual([])
  })

  it('P1: makes a consumer again that the killed server remembers as a moment before its record', async () => {
    const { done, look } = server({ last: 8, firstAt: AFTER, settled: 4, recorded: BEFORE })
    await look()
    expect(done).toEqual(REMADE)
  })

  it('P1: makes a consumer again that the killed server remembers as one that has settled nothing', async () => {
    const { done, look } = server({ last: 8, firstAt: AFTER, settled: 0, delivered: 5, recorded: BEFORE })
    await look()
    expect(done).toEqual(REMADE)
    await look()
    expect(done).toEqual(REMADE)
  })

  it('P1: leaves a consumer that was made after the record', async () => {
    const { done, look } = server({ last: 8, firstAt: AFTER, recorded: BEFORE, consumer: AFTER })
    await look()
    expect(done).toEqual([])
  })

  it('P1: makes a consumer again that is ahead of a stream with limits', async () => {
    const { done, look } = server({ last: 3, firstAt: AFTER, retention: 'limits' })
    await look()
    expect(done).toEqual(['delete bill', 'create bill all'])
  })

  it('B8: begins after the settled events of a stream that has lost its end', async () => {
    const { done, look } = server({ last: 3, firstAt: BEFORE, retention: 'limits' })
    await look()
    expect(done).toEqual(['delete bill', 'create bill by_start_sequence 4'])
  })

  it('P1: leaves a consumer that another process has made again meanwhile', async () => {
    const { done, look } = server({ last: 3, firstAt: AFTER, isOtherFaster: true })
    await look()
    expect(done).toEqual(['delete guard'])
  })

  it('P1: leaves a consumer whose stream counts on', async () => {
    const { done, look } = server({ last: 8, firstAt: BEFORE })
    await look()
    expect(done).toEqual([])
  })

  it('P1: leaves the consumers of a stream with replicas', async () => {
    const { done, look } = server({ last: 3, firstAt: AFTER, replicas: 3 })
    await look()
    expect(done).toEqual([])
  })
})
