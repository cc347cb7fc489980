import * as client from '@platformatic/kafka'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { KafkaClient, KafkaConnection, ProduceAnswer } from './client.ts'
import { type Batch, type OutgoingRecord, PartitionQueue } from './partition-queue.ts'
import { produceBatches } from './produce.ts'

const IDENTITY = { id: 4_711n, epoch: 3 }
const NOW = 1_767_323_045_678
/** Where a batch has the length of its rest. */
const LENGTH_AT = 8
/** Those of the partition, the topic and the request. */
const TAGGED_FIELDS = 3
const SMALL = { key: Buffer.from('k'), value: Buffer.from('v'), headers: [] }
const CALL = { left: 0, offsets: [], isWanted: () => true, resolve: () => {}, reject: () => {} }

function batchOf(
  records: readonly Pick<OutgoingRecord, 'key' | 'value' | 'headers'>[],
  topic = 't',
  partition = 0,
  identity = IDENTITY,
) {
  const queue = new PartitionQueue(topic, partition)
  for (const [index, record] of records.entries()) queue.add({ topic, ...record }, CALL, index)
  return queue.nextBatch(identity, NOW, NOW)!
}

/** The request that publishes these batches, and the one that the client would write. */
async function requestsFor(batches: readonly Batch[]): Promise<readonly [ours: Buffer, ofClient: Buffer]> {
  const answer: ProduceAnswer = { responses: [] }
  let ours!: Buffer
  const connection = {
    on: () => {},
    send: (...[api, version, createRequest, , , , callback]: Parameters<KafkaConnection['send']>) => {
      expect([api, version]).toEqual([client.produceV9.api.key, client.produceV9.api.version])
      ours = (createRequest() as client.Writer).buffer
      callback(null, answer as never)
    },
  } as KafkaConnection
  expect(await produceBatches(client as unknown as KafkaClient, connection, -1, 1_000, batches)).toBe(answer)
  const messages = batches.flatMap(({ queue: { topic, partition }, records }) =>
    records.map(({ record: { key, value, headers } }) => {
      return { topic, partition, key, value, headers: new Map(headers), timestamp: BigInt(NOW) }
    }),
  )
  const { identity } = batches[0]!
  const sequenceOf = new Map(
    batches.map(({ queue, sequence }) => [`${queue.topic}:${queue.partition}`, sequence]),
  )
  const sequences = { getWithDefault: (partition: string) => sequenceOf.get(partition) }
  const options = { producerId: identity.id, producerEpoch: identity.epoch, sequences }
  return [ours, client.produceV9.createRequest(-1, 1_000, messages as never, options as never).buffer]
}

/** The batch in a request that has one. */
function batchIn(request: Buffer): Buffer {
  for (let at = 0; at < request.length - LENGTH_AT; at++)
    if (at + LENGTH_AT + 4 + request.readInt32BE(at + LENGTH_AT) + TAGGED_FIELDS === request.length)
      return request.subarray(at, -TAGGED_FIELDS)
  throw new Error('the request has no batch')
}

it('B20: a batch has the bytes that the client would write', async () => {
  const bytes = fc.uint8Array({ maxLength: 300 }).map(each => Buffer.from(each))
  const contents = fc.record({
    key: fc.option(bytes),
    value: fc.option(bytes),
    headers: fc.array(fc.tuple(bytes, fc.option(bytes)), { maxLength: 4 }),
  })
  const long = { key: null, value: Buffer.alloc(20_000, 'x'), headers: [] }
  await fc.assert(
    fc.asyncProperty(fc.array(contents, { minLength: 1, maxLength: 200 }), async all => {
      const [ours, ofClient] = await requestsFor([batchOf([...all, long])])
      expect(ours.equals(ofClient)).toBe(true)
    }),
    { seed: 22, numRuns: 100 },
  )
})

it('B20: a request has the batches of several topics and partitions', async () => {
  const [ours, ofClient] = await requestsFor([
    batchOf([SMALL, SMALL], 'orders', 2),
    batchOf([SMALL], 'orders', 5),
    batchOf([SMALL], 'bills', 0),
  ])
  expect(ours.equals(ofClient)).toBe(true)
})

it('B20: the second batch of a partition goes on with the sequence of the first, up to its highest', async () => {
  const queue = new PartitionQueue('t', 0)
  const sequences: number[] = []
  for (const count of [3, 2, 1]) {
    for (let index = 0; index < count; index++) queue.add({ topic: 't', ...SMALL }, CALL, index)
    const batch = queue.nextBatch(IDENTITY, NOW, NOW)!
    sequences.push(batch.sequence)
    const [ours, ofClient] = await requestsFor([batch])
    expect(ours.equals(ofClient)).toBe(true)
    queue.delivered(batch, 0)
  }
  expect(sequences).toEqual([0, 3, 5])
  const last = batchOf([SMALL])
  last.sequence = 2 ** 31 - 1
  const [ours, ofClient] = await requestsFor([last])
  expect(ours.equals(ofClient)).toBe(true)
  expect(batchIn(ours).readInt32BE(53)).toBe(2 ** 31 - 1)
})

it('B20: a batch has as many records as one may have', async () => {
  const batch = batchOf(Array.from({ length: 10_001 }, () => ({ key: null, value: null, headers: [] })))
  expect(batch.records).toHaveLength(10_000)
  const [ours, ofClient] = await requestsFor([batch])
  expect(ours.equals(ofClient)).toBe(true)
})

it('B20: the batches of one request can have different producers', async () => {
  const other = { id: 2n ** 40n, epoch: 30_000 }
  const batches = [batchOf([SMALL, SMALL], 'orders', 2), batchOf([SMALL], 'orders', 5, other)]
  const [together] = await requestsFor(batches)
  for (const batch of batches) {
    const [, ofClient] = await requestsFor([batch])
    expect(together.includes(batchIn(ofClient))).toBe(true)
  }
})
