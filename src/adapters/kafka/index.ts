export { NotCollectedError } from '../../adapter-kit/collecting/errors.ts'
export { ClientMissingError } from '../../adapter-kit/load-client.ts'
export { TooManyHeldError } from '../../adapter-kit/ordered/too-many-held.ts'
export { type KafkaBroker, kafka } from './broker/broker.ts'
export {
  KafkaRefusedError,
  KafkaUnreachableError,
  MessageTooLargeError,
  PartitionsDifferError,
  RecordsRemovedError,
  TopicMissingError,
  TopicRecreatedError,
} from './errors.ts'
export { kafkaCollector } from './letters/collector.ts'
export { LettersRemovedError, LetterTopicRecreatedError } from './letters/errors.ts'
export {
  DEFAULT_FETCH_BYTES,
  DEFAULT_HANDLED_AFTER_MS,
  DEFAULT_POLL_INTERVAL_MS,
  type KafkaCollectorOptions,
} from './letters/options.ts'
export {
  DEFAULT_BUFFER_BYTES,
  DEFAULT_CONNECT_TIMEOUT_MS,
  DEFAULT_DEAD_LETTER_TOPIC,
  DEFAULT_DRAIN_MS,
  DEFAULT_GROUP,
  DEFAULT_HEARTBEAT_MS,
  DEFAULT_HELD_TOPIC,
  DEFAULT_METADATA_MAX_AGE_MS,
  DEFAULT_PUBLISH_TIMEOUT_MS,
  DEFAULT_REQUEST_TIMEOUT_MS,
  DEFAULT_RETRY_STEPS_MS,
  DEFAULT_RETRY_TOPIC,
  DEFAULT_TOPIC,
  type KafkaConnectionNews,
  type KafkaOptions,
  type KafkaSasl,
} from './options.ts'
