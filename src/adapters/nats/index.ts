export { ClientMissingError } from '../../adapter-kit/load-client.ts'
export { TooManyHeldError } from '../../adapter-kit/ordered/too-many-held.ts'
export { type NatsBroker, nats } from './broker/broker.ts'
export {
  ConsumerAheadError,
  EventsMissingError,
  JetStreamError,
  LeaseExpiredError,
  MessageTooLargeError,
  NatsRefusedError,
  NatsUnreachableError,
  StreamFullError,
  StreamMismatchError,
  StreamMissingError,
} from './errors.ts'
export { natsCollector } from './letters/collector.ts'
export { LettersRemovedError, StreamRestartedError } from './letters/errors.ts'
export {
  DEFAULT_HANDLED_AFTER_MS,
  DEFAULT_POLL_INTERVAL_MS,
  type NatsCollectorOptions,
} from './letters/options.ts'
export {
  DEFAULT_ACK_WAIT_MS,
  DEFAULT_CONNECT_TIMEOUT_MS,
  DEFAULT_LEASE_MS,
  DEFAULT_PUBLISH_TIMEOUT_MS,
  DEFAULT_REQUEST_TIMEOUT_MS,
  type NatsConnectionNews,
  type NatsOptions,
} from './options.ts'
