export {
  DEFAULT_LEASE_MS,
  DEFAULT_MAX_POLL_MS,
  type RedisStreamsOptions,
} from './broker/options.ts'
export { type RedisStreams, redisStreams } from './broker/streams.ts'
export type {
  AnyRedisClient,
  RedisArgument,
  RedisClient,
  RedisClusterClient,
  RedisCommandOptions,
} from './client.ts'
export { ClientMissingError, RedisClosedError, RedisError, type RedisTrouble } from './errors.ts'
export {
  DEFAULT_RECONNECT_BASE_MS,
  DEFAULT_RECONNECT_MAX_MS,
  DEFAULT_TIMEOUT_MS,
  type RedisConnectionOptions,
} from './options.ts'
