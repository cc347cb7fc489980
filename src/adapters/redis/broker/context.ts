import type { RedisConnection } from '../connection/connection.ts'
import type { RedisStreamsSettings } from '../options.ts'
import type { HandlerKeys } from './keys.ts'

/** The objects that the parts of a subscription share. */
export interface HandlerContext {
  readonly connection: RedisConnection
  readonly keys: HandlerKeys
  readonly settings: RedisStreamsSettings
  /** Whether closing has waited long enough, so that nothing is retried. */
  hasGivenUp(): boolean
}
