import { loadClient } from '../../../adapter-kit/load-client.ts'

/** The part of the module @platformatic/kafka that we use. Any object with these members fits. */
export interface KafkaClient {
  readonly ConnectionPool: new (clientId: string, options: object) => KafkaPool
  /** An answer with errors, by the place in the answer. */
  readonly ResponseError: new (
    api: number,
    version: number,
    errors: Readonly<Record<string, readonly [code: number, message: null]>>,
    answer: unknown,
  ) => Error
  /** What unpacks compressed records, by the number of the compression. */
  readonly compressionsAlgorithmsByBitmask: Readonly<Record<number, Decompression>>
  readonly metadataV12: Call<
    [topics: string[] | null, autoCreate: boolean, operations: boolean],
    MetadataAnswer
  >
  readonly findCoordinatorV4: Call<[keyType: number, keys: string[]], CoordinatorAnswer>
  readonly createTopicsV7: Call<[topics: NewTopic[], timeoutMs: number, validateOnly: boolean], unknown>
  readonly listOffsetsV7: Call<[replica: number, isolation: number, topics: OffsetsQuestion[]], OffsetsAnswer>
  readonly initProducerIdV4: Call<
    [transactionalId: null, timeoutMs: number, id: bigint, epoch: number],
    { readonly producerId: bigint; readonly producerEpoch: number }
  >
  /** Its request is written by `produceBatches`. */
  readonly produceV9: { readonly parseResponse: ReadAnswer<ProduceAnswer> }
  readonly Writer: { create(): RequestWriter }
  crc32c(bytes: Buffer): number
  /** Its answer is read by `fetchRecords`. */
  readonly fetchV13: { createRequest(...args: FetchArguments): unknown }
  readonly offsetFetchV8: Call<[groups: CommittedQuestion[], isStable: boolean], CommittedAnswer>
  readonly offsetCommitV9: Call<
    [group: string, epoch: number, member: string, instance: null, topics: CommittedTopic[]],
    unknown
  >
  readonly consumerGroupHeartbeatV1: Call<HeartbeatArguments, HeartbeatAnswer>
  readonly describeConfigsV4: Call<
    [resources: ConfigQuestion[], hasSynonyms: boolean, hasDocs: boolean],
    ConfigAnswer
  >
  readonly incrementalAlterConfigsV1: Call<[resources: ConfigChange[], validateOnly: boolean], unknown>
}

/** One request of the protocol. `async` rejects for an answer with errors, which then has the answer as `response`. */
interface Call<A extends readonly unknown[], R> {
  readonly api: { async(connection: KafkaConnection, ...args: A): Promise<R> }
}

/** The connections to the brokers of a cluster, one for each broker. */
export interface KafkaPool {
  get(broker: BrokerAddress): Promise<KafkaConnection>
  close(): Promise<void>
  on(event: 'connecting', listener: (payload: { readonly connection: KafkaConnection }) => void): unknown
}

/** A connection to one broker. */
export interface KafkaConnection {
  on(event: 'error', listener: (error: Error) => void): unknown
  send<R>(
    api: number,
    version: number,
    createRequest: () => unknown,
    readAnswer: ReadAnswer<R>,
    hasRequestTags: boolean,
    hasAnswerTags: boolean,
    callback: (error: Error | null | undefined, answer: R | undefined) => void,
  ): void
}

type ReadAnswer<R> = (id: number, api: number, version: number, answer: AnswerBytes) => R

/** Writes a request. */
interface RequestWriter {
  appendString(text: string | null): RequestWriter
  appendInt16(value: number): RequestWriter
  appendInt32(value: number): RequestWriter
  appendUnsignedVarInt(value: number): RequestWriter
  append(bytes: Buffer): RequestWriter
  appendArray<T>(items: readonly T[], write: (writer: RequestWriter, item: T) => void): RequestWriter
  appendTaggedFields(): RequestWriter
}

/** An answer in the pieces that it arrived in. */
interface AnswerBytes {
  readonly buffer: { slice(from: number): Buffer }
  readonly position: number
}

interface Decompression {
  decompressSync(data: Buffer): Buffer
}

/** Where a broker listens. */
export interface BrokerAddress {
  readonly host: string
  readonly port: number
}

export interface MetadataAnswer {
  readonly brokers: readonly (BrokerAddress & { readonly nodeId: number })[]
  readonly topics: readonly {
    readonly errorCode: number
    readonly name: string | null
    readonly topicId: string
    readonly partitions: readonly {
      readonly partitionIndex: number
      readonly leaderId: number
      readonly replicaNodes: readonly number[]
    }[]
  }[]
}

interface CoordinatorAnswer {
  readonly coordinators: readonly (BrokerAddress & { readonly key: string; readonly nodeId: number })[]
}

interface ConfigQuestion {
  readonly resourceType: number
  readonly resourceName: string
  readonly configurationKeys: string[] | null
}

interface ConfigAnswer {
  readonly results: readonly {
    readonly resourceName: string
    readonly configs: readonly { readonly name: string; readonly value: string | null }[]
  }[]
}

interface ConfigChange {
  readonly resourceType: number
  readonly resourceName: string
  readonly configs: { readonly name: string; readonly configOperation: number; readonly value: string }[]
}

export interface NewTopic {
  readonly name: string
  readonly numPartitions: number
  readonly replicationFactor: number
  readonly assignments: never[]
  readonly configs: { readonly name: string; readonly value: string }[]
}

interface OffsetsQuestion {
  readonly name: string
  readonly partitions: {
    readonly partitionIndex: number
    readonly currentLeaderEpoch: number
    readonly timestamp: bigint
  }[]
}

interface OffsetsAnswer {
  readonly topics: readonly {
    readonly name: string
    readonly partitions: readonly { readonly partitionIndex: number; readonly offset: bigint }[]
  }[]
}

/** The answer to a produce request. Its partitions have errors of their own. */
export interface ProduceAnswer {
  readonly responses: readonly {
    readonly name: string
    readonly partitionResponses: readonly {
      readonly index: number
      readonly errorCode: number
      readonly baseOffset: bigint
    }[]
  }[]
}

export type FetchArguments = [
  maxWaitMs: number,
  minBytes: number,
  maxBytes: number,
  isolation: number,
  sessionId: number,
  sessionEpoch: number,
  topics: FetchedTopic[],
  forgotten: never[],
  rack: string,
]

interface FetchedTopic {
  readonly topicId: string
  readonly partitions: {
    readonly partition: number
    readonly currentLeaderEpoch: number
    readonly fetchOffset: bigint
    readonly lastFetchedEpoch: number
    readonly partitionMaxBytes: number
  }[]
}

export interface FetchAnswer {
  readonly responses: readonly {
    readonly topicId: string
    readonly partitions: readonly FetchAnswerPartition[]
  }[]
}

export interface FetchAnswerPartition {
  readonly partitionIndex: number
  readonly errorCode: number
  readonly highWatermark: number
  /** The offset after the last record of finished transactions. */
  readonly readableTo: number
  readonly abortedTransactions: readonly AbortedTransaction[]
  /** Batches of records; undefined if there are none. */
  readonly records: Buffer | undefined
}

export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: number
}

interface CommittedQuestion {
  readonly groupId: string
  readonly memberId: null
  readonly memberEpoch: number
  readonly topics: { readonly name: string; readonly partitionIndexes: number[] }[]
}

interface CommittedAnswer {
  readonly groups: readonly {
    readonly topics: readonly {
      readonly name: string
      readonly partitions: readonly {
        readonly partitionIndex: number
        readonly committedOffset: bigint
        readonly metadata: string | null
      }[]
    }[]
  }[]
}

interface CommittedTopic {
  readonly name: string
  readonly partitions: {
    readonly partitionIndex: number
    readonly committedOffset: bigint
    readonly committedLeaderEpoch: number
    readonly committedMetadata: string
  }[]
}

type HeartbeatArguments = [
  group: string,
  member: string,
  epoch: number,
  instance: null,
  rack: null,
  rebalanceTimeoutMs: number,
  topics: string[],
  regex: null,
  assignor: string,
  owned: TopicPartitions[],
]

interface TopicPartitions {
  readonly topicId: string
  readonly partitions: number[]
}

export interface HeartbeatAnswer {
  readonly memberEpoch: number
  readonly heartbeatIntervalMs: number
  readonly assignment: { readonly topicPartitions: readonly TopicPartitions[] } | null
}

export function loadKafka(client: KafkaClient | undefined): Promise<KafkaClient> {
  if (client !== undefined) return Promise.resolve(client)
  return loadClient('@platformatic/kafka', async () => {
    return (await import('@platformatic/kafka')) as unknown as KafkaClient
  })
}
