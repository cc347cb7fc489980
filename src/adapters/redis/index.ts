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
