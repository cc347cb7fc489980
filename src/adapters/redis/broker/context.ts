import type { RedisConnection } from '../connection/connection.ts'
import type { RedisStreamsSettings } from '../options.ts'
import type { HandlerKeys } from './keys.ts'

/** What the parts of a subscription share. */
export interface HandlerContext {
  readonly connection: RedisConnection
  readonly keys: HandlerKeys
  readonly settings: RedisStreamsSettings
  /** Whether nothing is tried again any more, because closing has waited long enough. */
  hasGivenUp(): boolean
}
