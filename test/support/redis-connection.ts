import {
  connectionRules,
  type RedisConnectionOptions,
  type RedisConnectionSettings,
  resolveConnected,
} from '../../src/adapters/redis/options.ts'

export function resolveConnection(subject: string, options: RedisConnectionOptions): RedisConnectionSettings {
  return resolveConnected(subject, connectionRules, options)
}
