import * as client from '@platformatic/kafka'
import { expect, it } from 'vitest'
import type { FetchAnswer, KafkaClient, KafkaConnection } from './client.ts'
import { fetchRecords } from './fetch.ts'
import { produceBatches } from './produce.ts'

const TOPIC = '0198f000-0000-7000-8000-0123456789ab'

interface Part {
  readonly errorCode?: number
  readonly records?: Buffer
  readonly aborted?: readonly [bigint, bigint][] | null
}

/** An answer of a broker to a fetch in version 13, with a tagged field that we do not know. */
function answerOf(parts: readonly Part[]): client.Writer {
  const writer = client.Writer.create().appendInt32(0).appendInt16(0).appendInt32(0)
  return writer
    .appendArray([parts], (topics, partitions) => {
      topics
        .appendUUID(TOPIC)
        .appendArray([...partitions], (each, { errorCode = 0, records, aborted }, index) => {
          each.appendInt32(index).appendInt16(errorCode).appendInt64(500n).appendInt64(499n).appendInt64(0n)
          each.appendArray(aborted === undefined ? [] : aborted && [...aborted], (one, [producer, first]) => {
            one.appendInt64(producer).appendInt64(first)
          })
          each.appendInt32(-1)
          if (records === undefined) each.appendUnsignedVarInt(1)
          else each.appendUnsignedVarInt(records.length + 1).append(records)
        })
    })
    .appendTaggedFields()
}

/** Asks a connection whose broker gives this answer, in pieces of so many bytes. */
function fetched(answer: client.Writer, pieceBytes: number): Promise<FetchAnswer> {
  const bytes = answer.buffer
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  )
  const connection = {
    on: () => {},
    send: (...[, , , parse, , , callback]: Parameters<KafkaConnection['send']>) => {
      const reader = client.Reader.from(client.Writer.create().buffer)
      for (const piece of pieces) reader.buffer.append(piece)
      try {
        callback(null, parse(1, 1, 13, reader))
      } catch (error) {
        callback(error as Error, undefined)
      }
    },
  } as KafkaConnection
  return fetchRecords(client as unknown as KafkaClient, connection, 0, 0, 0, 0, 0, 0, [], [], '')
}

it.each([1, 7, 1_000])('B20: an answer in pieces of %i bytes is read as a whole', async pieceBytes => {
  const records = Buffer.from('the batches')
  const { responses } = await fetched(
    answerOf([{ records, aborted: [[7n, 400n]] }, { aborted: null }]),
    pieceBytes,
  )
  expect(responses).toEqual([
    {
      topicId: TOPIC,
      partitions: [
        {
          partitionIndex: 0,
          errorCode: 0,
          highWatermark: 500,
          readableTo: 499,
          abortedTransactions: [{ producerId: 7n, firstOffset: 400 }],
          records,
        },
        {
          partitionIndex: 1,
          errorCode: 0,
          highWatermark: 500,
          readableTo: 499,
          abortedTransactions: [],
          records: undefined,
        },
      ],
    },
  ])
})

it('B20: an error of one partition is reported with the answer of the others', async () => {
  const error = await fetched(answerOf([{ errorCode: 6 }, { records: Buffer.from('x') }]), 1_000).catch(
    each => each,
  )
  expect(error.errors).toMatchObject([{ apiCode: 6 }])
  expect(error.response.responses[0].partitions[1].records).toEqual(Buffer.from('x'))
})

it('B20: an answer that ends too early is an error', async () => {
  const { buffer } = answerOf([{ records: Buffer.alloc(100) }])
  for (const length of [3, 20, 60, buffer.length - 10]) {
    const cut = client.Writer.create().append(buffer.subarray(0, length))
    await expect(fetched(cut, 1_000)).rejects.toThrow(/ends too early|out of range|outside buffer/)
  }
})

it('B20, E21: a request that takes too long is an error', async () => {
  const connection = {
    on: () => {},
    // The client answers a request that took too long like this.
    send: (...[, , , , , , callback]: Parameters<KafkaConnection['send']>) =>
      callback(new Error('Request timed out'), null as never),
  } as KafkaConnection
  const kafka = client as unknown as KafkaClient
  await expect(fetchRecords(kafka, connection, 0, 0, 0, 0, 0, 0, [], [], '')).rejects.toThrow('timed out')
  await expect(produceBatches(kafka, connection, -1, 1_000, [])).rejects.toThrow('timed out')
})
