export { ClientMissingError } from '../../adapter-kit/load-client.ts'
export { type RedisStreams, redisStreams } from './broker/streams.ts'
export type {
  AnyRedisClient,
  RedisArgument,
  RedisClient,
  RedisClusterClient,
  RedisCommandOptions,
  RedisSentinelClient,
} from './connection/client.ts'
export { isVersionEnough, MIN_VERSION, type ServerFindings } from './connection/server.ts'
export { RedisError, type RedisErrorKind, RedisServerError } from './errors.ts'
export type { RedisLedger } from './ledger/ledger.ts'
export type { RedisDeadLetters } from './letters/dead-letters.ts'
export type { RedisUsage } from './letters/scripts.ts'
export {
  DEFAULT_LIMIT_RECONNECT_MAX_MS,
  DEFAULT_LIMIT_TIMEOUT_MS,
  type RedisLimitOptions,
  redisLimit,
} from './limits/limit.ts'
export {
  DEFAULT_LEASE_MS,
  DEFAULT_LEDGER_RETENTION_MS,
  DEFAULT_MAX_POLL_MS,
  DEFAULT_RECONNECT_BASE_MS,
  DEFAULT_RECONNECT_MAX_MS,
  DEFAULT_RETENTION_MS,
  DEFAULT_TIMEOUT_MS,
  type RedisConnectionOptions,
  type RedisOptions,
  type RedisStreamsOptions,
} from './options.ts'
export { connectRedis, openRedis, type RedisStore, redisDeadLetters, redisLedger } from './store.ts'
