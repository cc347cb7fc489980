import * as client from '@platformatic/kafka'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { KafkaClient, KafkaConnection, ProduceAnswer } from './client.ts'
import { type Batch, type OutgoingRecord, PartitionQueue } from './partition-queue.ts'
import { produceBatches } from './produce.ts'

const IDENTITY = { id: 4_711n, epoch: 3 }
const NOW = 1_767_323_045_678
const CALL = { left: 0, offsets: [], isWanted: () => true, resolve: () => {}, reject: () => {} }

function batchOf(
  records: readonly Pick<OutgoingRecord, 'key' | 'value' | 'headers'>[],
  topic = 't',
  partition = 0,
) {
  const queue = new PartitionQueue(topic, partition)
  for (const [index, record] of records.entries()) queue.add({ topic, ...record }, CALL, index)
  return queue.nextBatch(IDENTITY, NOW, NOW)!
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
  const options = { producerId: IDENTITY.id, producerEpoch: IDENTITY.epoch }
  return [ours, client.produceV9.createRequest(-1, 1_000, messages as never, options as never).buffer]
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
  const record = { key: Buffer.from('k'), value: Buffer.from('v'), headers: [] }
  const [ours, ofClient] = await requestsFor([
    batchOf([record, record], 'orders', 2),
    batchOf([record], 'orders', 5),
    batchOf([record], 'bills', 0),
  ])
  expect(ours.equals(ofClient)).toBe(true)
})
