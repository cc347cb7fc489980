import * as client from '@platformatic/kafka'
import { expect, it } from 'vitest'
import { readBatches } from './records.ts'

const BROKER_TIME = 1 << 3
const TRANSACTIONAL = 1 << 4
const CONTROL = 1 << 5

interface BatchOptions {
  readonly attributes?: number
  readonly producerId?: bigint
  readonly lastOffsetDelta?: number
  readonly compression?: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'
}

type Content = Pick<client.Message<Buffer, Buffer, Buffer, Buffer>, 'key' | 'value' | 'headers'>

/** A batch as a producer sends it and a broker stores it. */
function batchOf(
  firstOffset: number,
  contents: readonly Partial<Content>[],
  more: BatchOptions = {},
): Buffer {
  const {
    producerId = 1n,
    attributes = 0,
    lastOffsetDelta = contents.length - 1,
    compression = 'none',
  } = more
  const messages = contents.map((content, index) => {
    return { topic: 't', timestamp: 1_000n + BigInt(index), headers: new Map(), ...content }
  })
  const { buffer } = client.createRecordsBatch(messages as never, { producerId, compression } as never)
  const bytes = Buffer.from(buffer)
  bytes.writeBigInt64BE(BigInt(firstOffset), 0)
  bytes.writeInt16BE(bytes.readInt16BE(21) | attributes, 21)
  bytes.writeInt32BE(lastOffsetDelta, 23)
  return bytes
}

function batch(firstOffset: number, values: readonly string[], more?: BatchOptions): Buffer {
  return batchOf(
    firstOffset,
    values.map(value => ({ value: Buffer.from(value) })),
    more,
  )
}

/** Type 0 says that the transaction was aborted, type 1 that it was committed. */
function marker(offset: number, producerId: bigint, type: number): Buffer {
  const record = { key: Buffer.from([0, 0, 0, type]), value: Buffer.from('') }
  return batchOf(offset, [record], { producerId, attributes: TRANSACTIONAL | CONTROL })
}

function read(from: number, batches: readonly Buffer[], aborted: [bigint, number][] = []) {
  const abortedTransactions = aborted.map(([producerId, firstOffset]) => ({ producerId, firstOffset }))
  return readBatches(client, 't', 0, from, { records: Buffer.concat(batches), abortedTransactions })
}

function valuesOf(...args: Parameters<typeof read>) {
  const { records, nextOffset } = read(...args)
  return [records.map(({ offset, value }) => `${offset}${value}`), nextOffset]
}

it('E21: a fetch in the middle of a batch begins there, and goes on after its last offset', () => {
  expect(valuesOf(6, [batch(5, ['a', 'b', 'c'])])).toEqual([['6b', '7c'], 8])
})

it('E21: records that compaction removed leave a gap, and the next fetch is behind it', () => {
  expect(valuesOf(5, [batch(5, ['a'], { lastOffsetDelta: 9 })])).toEqual([['5a'], 15])
  expect(valuesOf(5, [])).toEqual([[], 5])
})

it('E21: an answer that ends in the middle of a batch is read up to that batch', () => {
  const cut = batch(7, ['c', 'd'])
  for (const length of [0, 5, 12, cut.length - 1])
    expect(valuesOf(5, [batch(5, ['a', 'b']), cut.subarray(0, length)])).toEqual([['5a', '6b'], 7])
})

it('E21: records of an aborted transaction are left out, and those of others between them are not', () => {
  const mine = (offset: number, value: string) =>
    batch(offset, [value], { producerId: 7n, attributes: TRANSACTIONAL })
  const batches = [
    mine(0, 'aborted'),
    batch(1, ['plain']),
    mine(2, 'aborted'),
    marker(3, 7n, 0),
    mine(4, 'kept'),
    marker(5, 7n, 1),
  ]
  expect(valuesOf(0, batches, [[7n, 0]])).toEqual([['1plain', '4kept'], 6])
})

it.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)(
  'E21: records that are packed with %s are read',
  compression => {
    const values = Array.from({ length: 200 }, (_, index) => `value ${index}`)
    const { records } = read(0, [batch(0, values, { compression })])
    expect(records.map(({ value }) => String(value))).toEqual(values)
  },
)

it('B20: key, value and headers are the bytes of the record, with repeated names, null and long ones', () => {
  const long = Buffer.alloc(70_000, 'x')
  const headers = new Map<Buffer, Buffer | null>([
    [Buffer.from('a'), Buffer.from([0, 255])],
    [Buffer.from('a'), null],
    [Buffer.from(''), long],
  ])
  const contents = [
    { key: Buffer.from([1, 2]), value: long, headers: headers as never },
    { key: null as never, value: null as never },
    { key: Buffer.alloc(0), value: Buffer.alloc(0) },
  ]
  const { records } = read(300, [batchOf(300, contents)])
  expect(records.map(({ offset, timestamp }) => [offset, timestamp])).toEqual([
    [300, 1_000],
    [301, 1_001],
    [302, 1_002],
  ])
  expect(records.map(({ key, value }) => [key, value])).toEqual(
    contents.map(({ key, value }) => [key, value]),
  )
  expect(records.map(each => each.headers)).toEqual([[...headers], [], []])
})

it('B20: records have the time at which the broker stored them, if the topic says so', () => {
  const { records } = read(0, [batch(0, ['a', 'b'], { attributes: BROKER_TIME })])
  expect(records.map(({ timestamp }) => timestamp)).toEqual([1_001, 1_001])
})

it('B20: records of a format that Kafka 4 does not have are an error', () => {
  const old = batch(0, ['a'])
  old.writeInt8(1, 16)
  expect(() => read(0, [old])).toThrow("topic 't' has records in format 1")
})
