export { NotCollectedError } from '../../adapter-kit/collecting/errors.ts'
export { ClientMissingError } from '../../adapter-kit/load-client.ts'
export { type RabbitmqBroker, rabbitmq } from './broker/broker.ts'
export type {
  AmqpChannel,
  AmqpClient,
  AmqpConfirmChannel,
  AmqpConnection,
  AmqpMessage,
} from './connection/amqp.ts'
export {
  HeadersTooLargeError,
  QueueFullError,
  RabbitmqRefusedError,
  RabbitmqUnreachableError,
  TopologyError,
  UnroutableError,
} from './errors.ts'
export { rabbitmqCollector } from './letters/collector.ts'
export {
  type CollectorOptions,
  DEFAULT_COLLECT_PREFETCH,
  DEFAULT_HANDLED_AFTER_MS,
  DEFAULT_PEEK_LIMIT,
  DEFAULT_POLL_INTERVAL_MS,
} from './letters/options.ts'
export {
  type ConnectionNews,
  DEFAULT_CONFIRM_TIMEOUT_MS,
  DEFAULT_CONNECT_TIMEOUT_MS,
  DEFAULT_DEAD_LETTER_QUEUE,
  DEFAULT_DELIVERY_LIMIT,
  DEFAULT_HEARTBEAT_SECONDS,
  DEFAULT_RECONNECT_BASE_MS,
  DEFAULT_RECONNECT_MAX_MS,
  DEFAULT_RETRY_STEPS_MS,
  type RabbitmqOptions,
  type Route,
} from './options.ts'
