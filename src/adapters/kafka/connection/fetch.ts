import { ask } from './ask.ts'
import { ByteReader } from './byte-reader.ts'
import type {
  AbortedTransaction,
  FetchAnswer,
  FetchAnswerPartition,
  FetchArguments,
  KafkaClient,
  KafkaConnection,
} from './client.ts'

const FETCH = 1
const VERSION = 13
const UUID_BYTES = 16

/**
 * Asks a broker for records. The answer is read here: the client reads it through a list of the pieces that it arrived in, and
 * looks for the right piece at every number, which costs more than everything else together.
 */
export function fetchRecords(
  client: KafkaClient,
  connection: KafkaConnection,
  ...args: FetchArguments
): Promise<FetchAnswer> {
  return ask(callback =>
    connection.send(
      FETCH,
      VERSION,
      () => client.fetchV13.createRequest(...args),
      (_id, _key, _version, { buffer, position }) => readAnswer(client, buffer.slice(position)),
      true,
      true,
      callback,
    ),
  )
}

/** Throws if a partition has an error. The error has the answer, as those of the client have. */
function readAnswer(client: KafkaClient, bytes: Buffer): FetchAnswer {
  const reader = new ByteReader(bytes)
  const errors: Record<string, [code: number, message: null]> = {}
  // How long the broker has made us wait.
  reader.int32()
  const errorCode = reader.int16()
  if (errorCode !== 0) errors['/'] = [errorCode, null]
  // The session, which we do not use.
  reader.int32()
  const responses = arrayOf(reader, topic => {
    const topicId = uuidText(reader.take(UUID_BYTES))
    const partitions = arrayOf(reader, index => {
      const found = readPartition(reader)
      if (found.errorCode !== 0) errors[`/responses/${topic}/partitions/${index}`] = [found.errorCode, null]
      return found
    })
    return { topicId, partitions }
  })
  const answer = { responses }
  if (Object.keys(errors).length > 0) throw new client.ResponseError(FETCH, VERSION, errors, answer)
  return answer
}

function readPartition(reader: ByteReader): FetchAnswerPartition {
  const partitionIndex = reader.int32()
  const errorCode = reader.int16()
  const highWatermark = Number(reader.int64())
  const readableTo = Number(reader.int64())
  // The first offset.
  reader.int64()
  const abortedTransactions = arrayOf<AbortedTransaction>(reader, () => {
    return { producerId: reader.int64(), firstOffset: Number(reader.int64()) }
  })
  // A replica that is nearer.
  reader.int32()
  const length = reader.unsignedVarint() - 1
  // A copy, because a record that waits must not keep the records of other partitions in memory.
  const records = length > 0 ? Buffer.from(reader.take(length)) : undefined
  return { partitionIndex, errorCode, highWatermark, readableTo, abortedTransactions, records }
}

/** The length of an array is written plus one, and 0 stands for no array. Every element ends with its tagged fields. */
function arrayOf<T>(reader: ByteReader, read: (index: number) => T): T[] {
  const length = reader.unsignedVarint() - 1
  const all: T[] = []
  for (let index = 0; index < length; index++) {
    all.push(read(index))
    reader.skipTaggedFields()
  }
  return all
}

function uuidText(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
