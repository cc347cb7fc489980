import { expect, it } from 'vitest'
import type { RecordBatch } from './client.ts'
import { readBatches } from './records.ts'

const TRANSACTIONAL = 1 << 4
const CONTROL = 1 << 5

function batch(firstOffset: number, values: readonly string[], more: Partial<RecordBatch> = {}): RecordBatch {
  return {
    firstOffset: BigInt(firstOffset),
    lastOffsetDelta: values.length - 1,
    firstTimestamp: 1_000n,
    attributes: 0,
    producerId: 1n,
    records: values.map((value, offsetDelta) => ({
      offsetDelta,
      timestampDelta: BigInt(offsetDelta),
      key: null,
      value: Buffer.from(value),
      headers: [],
    })),
    ...more,
  }
}

/** Type 0 says that the transaction was aborted, type 1 that it was committed. */
function marker(offset: number, producerId: bigint, type: number): RecordBatch {
  const record = {
    offsetDelta: 0,
    timestampDelta: 0n,
    key: Buffer.from([0, 0, 0, type]),
    value: null,
    headers: [],
  }
  return batch(offset, [''], { producerId, attributes: TRANSACTIONAL | CONTROL, records: [record] })
}

function valuesOf(from: number, batches: readonly RecordBatch[], aborted: [bigint, number][] = []) {
  const transactions = aborted.map(([producerId, first]) => ({ producerId, firstOffset: BigInt(first) }))
  const { records, nextOffset } = readBatches('t', 0, from, batches, transactions)
  return [records.map(({ offset, value }) => `${offset}${value}`), nextOffset]
}

it('E21: a fetch in the middle of a batch begins there, and goes on after its last offset', () => {
  expect(valuesOf(6, [batch(5, ['a', 'b', 'c'])])).toEqual([['6b', '7c'], 8])
})

it('E21: records that compaction removed leave a gap, and the next fetch is behind it', () => {
  expect(valuesOf(5, [{ ...batch(5, ['a']), lastOffsetDelta: 9 }])).toEqual([['5a'], 15])
  expect(valuesOf(5, [])).toEqual([[], 5])
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
