import {
  connectionRules,
  placed,
  type RedisConnectionOptions,
  type RedisConnectionSettings,
} from '../../src/adapters/redis/options.ts'
import { resolveOptions } from '../../src/core/options/resolve.ts'

export function resolveConnection(subject: string, options: RedisConnectionOptions): RedisConnectionSettings {
  return placed(subject, resolveOptions(subject, connectionRules, options))
}
