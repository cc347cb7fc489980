import { LazaretError } from '../../core/failure/errors.ts'

/** The cluster cannot be reached, or did not answer in time. The request may or may not have been executed. */
export class KafkaUnreachableError extends LazaretError {
  override readonly name = 'KafkaUnreachableError'

  constructor(servers: string, problem: string, cause?: unknown) {
    super(`Kafka ${servers}: ${problem}; check that it runs and that this machine can reach it`, {
      code: 'LAZARET_BROKER_UNREACHABLE',
      retryable: true,
      cause,
    })
  }
}

/** The cluster answered and refuses what we want, or we do not trust its certificate: trying again cannot help. */
export class KafkaRefusedError extends LazaretError {
  override readonly name = 'KafkaRefusedError'

  constructor(servers: string, problem: string, remedy: string, cause?: unknown) {
    super(`Kafka ${servers}: refused: ${problem}; ${remedy}`, {
      code: 'LAZARET_BROKER_REFUSED',
      retryable: false,
      cause,
    })
  }
}

/** A topic does not exist, and creating it is not ours to do. */
export class TopicMissingError extends LazaretError {
  override readonly name = 'TopicMissingError'

  constructor(topic: string) {
    super(`topic '${topic}': does not exist; create it: lazaret kafka declare, or use \`declare: 'all'\``, {
      code: 'LAZARET_BROKER_UNROUTABLE',
      retryable: true,
    })
  }
}

/** The topic refuses the message because of its size. */
export class MessageTooLargeError extends LazaretError {
  override readonly name = 'MessageTooLargeError'

  constructor(topic: string, bytes: number, cause: unknown) {
    super(
      `topic '${topic}': a message of about ${bytes} bytes is refused; send less, or raise max.message.bytes of the topic`,
      { code: 'LAZARET_EVENT_INVALID', retryable: false, cause },
    )
  }
}

/** The topics of a handler and the topic of its channel differ in their partitions. */
export class PartitionsDifferError extends LazaretError {
  override readonly name = 'PartitionsDifferError'

  constructor(topic: string, partitions: number, channelTopic: string, wanted: number) {
    super(
      `topic '${topic}': has ${partitions} partitions and '${channelTopic}' has ${wanted}; give both the same number: kafka-topics.sh --alter --topic ${topic} --partitions ${wanted}`,
      { code: 'LAZARET_TOPOLOGY_MISMATCH', retryable: true },
    )
  }
}

/** Events were removed from a topic before the handler had them. */
export class RecordsRemovedError extends LazaretError {
  override readonly name = 'RecordsRemovedError'

  constructor(topic: string, partition: number, from: number, to: number) {
    super(
      `topic '${topic}': partition ${partition} has no record at ${from}; the handler continues at ${to}. If retention removed records, give the topic a longer one`,
      { code: 'LAZARET_TOPOLOGY_MISMATCH', retryable: true },
    )
  }
}

/** A topic was deleted and created again. */
export class TopicRecreatedError extends LazaretError {
  override readonly name = 'TopicRecreatedError'

  constructor(topic: string) {
    super(
      `topic '${topic}': was deleted and created again, so the handler reads it from its first record. Events of the deleted topic that were not handled are lost; let the handlers finish before you delete a topic`,
      { code: 'LAZARET_TOPOLOGY_MISMATCH', retryable: true },
    )
  }
}
