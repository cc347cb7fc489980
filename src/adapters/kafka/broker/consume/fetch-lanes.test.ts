import * as client from '@platformatic/kafka'
import { expect, it } from 'vitest'
import { yieldToEventLoop } from '../../../../ports/clock.ts'
import type { FetchAnswer, FetchArguments, KafkaConnection } from '../../connection/client.ts'
import type { Cluster } from '../../connection/cluster.ts'
import { resolveKafka } from '../../options.ts'
import { progressAt } from '../group/progress.ts'
import { Fetcher } from './fetcher.ts'
import { AssignedPartition } from './partition.ts'

const TOPIC = { topic: 'orders', topicId: 'id-of-orders' }
const END = 100

interface Asked {
  readonly partitions: readonly number[]
  readonly waitMs: number
  /** All partitions have records up to this offset, and none is in the answer. */
  answer(readableTo: number): Promise<void>
}

/** A fetcher whose requests are answered by the test. */
function fetching(count: number) {
  const partitions = Array.from({ length: count }, (_, partition) => {
    const each = new AssignedPartition({ ...TOPIC, partition }, undefined)
    each.open(progressAt(0))
    return each
  })
  const asked: Asked[] = []
  const connection = {
    on: () => {},
    send: (...[, , createRequest, , , , callback]: Parameters<KafkaConnection['send']>) => {
      const [waitMs, , , , , , [topic]] = createRequest() as FetchArguments
      const numbers = topic!.partitions.map(({ partition }) => partition)
      const answer = async (readableTo: number) => {
        const found = numbers.map(partitionIndex => {
          const empty = { errorCode: 0, abortedTransactions: [], records: undefined }
          return { partitionIndex, highWatermark: readableTo, readableTo, ...empty }
        })
        const whole: FetchAnswer = { responses: [{ topicId: TOPIC.topicId, partitions: found }] }
        callback(null, whole as never)
        await yieldToEventLoop()
      }
      asked.push({ partitions: numbers, waitMs, answer })
    },
  } as KafkaConnection
  const cluster = {
    client: async () => ({ ...client, fetchV13: { createRequest: (...args: FetchArguments) => args } }),
    node: async () => connection,
    known: () => ({ name: TOPIC.topic, id: TOPIC.topicId, leaders: Array(count).fill(1) }),
  }
  const wanted = new Set<AssignedPartition>()
  const fetcher = new Fetcher(
    cluster as unknown as Cluster,
    resolveKafka({ brokers: ['kafka:9092'] }),
    'test',
    {
      wanted: () => [...wanted].filter(({ isFetching }) => !isFetching),
      received: () => {},
      outOfRange: () => {},
      topicMissing: () => {},
      failed: (_, error) => {
        throw error
      },
    },
  )
  const read = async (...numbers: readonly number[]) => {
    for (const number of numbers) wanted.add(partitions[number]!)
    fetcher.run()
    await yieldToEventLoop()
  }
  return { asked, partitions, wanted, read }
}

it('B20: a partition that has records is read at once, however many others wait for records', async () => {
  const { asked, partitions, read } = fetching(8)
  for (let number = 0; number < 7; number++) await read(number)
  partitions[7]!.readableTo = END
  await read(7)
  expect(asked.at(-1)!.partitions).toEqual([7])
})

it('B20: partitions without records share a request, and one that comes later waits in a short one', async () => {
  const { asked, read } = fetching(4)
  await read(0, 1)
  await read(2)
  await read(3)
  expect(asked.map(({ partitions }) => partitions)).toEqual([[0, 1], [2]])
  expect(asked[1]!.waitMs).toBeLessThan(asked[0]!.waitMs)
  await asked[1]!.answer(0)
  expect(asked[2]!.partitions).toEqual([2, 3])
})

it('B20: partitions that were read are asked for again in the lane that they came from', async () => {
  const { asked, read } = fetching(2)
  await read(0, 1)
  await asked[0]!.answer(0)
  expect(asked.map(({ partitions, waitMs }) => [partitions, waitMs])).toEqual([
    [[0, 1], asked[0]!.waitMs],
    [[0, 1], asked[0]!.waitMs],
  ])
})

it('B20: of partitions that are behind, the emptiest is asked for first, so that none is starved', async () => {
  const { asked, partitions, read } = fetching(3)
  for (const each of partitions) each.readableTo = END
  partitions[0]!.bufferedBytes = 2_000
  partitions[1]!.bufferedBytes = 1_000
  await read(0, 1, 2)
  expect(asked[0]!.partitions).toEqual([2, 1, 0])
})
