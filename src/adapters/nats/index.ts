export { ClientMissingError } from '../../adapter-kit/load-client.ts'
export { type NatsBroker, nats } from './broker/broker.ts'
export {
  JetStreamError,
  MessageTooLargeError,
  NatsRefusedError,
  NatsUnreachableError,
  StreamFullError,
  StreamMismatchError,
  StreamMissingError,
  TooManyHeldError,
} from './errors.ts'
export {
  DEFAULT_ACK_WAIT_MS,
  DEFAULT_CONNECT_TIMEOUT_MS,
  DEFAULT_LEASE_MS,
  DEFAULT_PUBLISH_TIMEOUT_MS,
  DEFAULT_REQUEST_TIMEOUT_MS,
  type NatsConnectionNews,
  type NatsOptions,
} from './options.ts'
