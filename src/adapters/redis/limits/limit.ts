import type { TurnsAsked } from '../../../core/limit/fleet/bucket.ts'
import { DEFAULT_ASSUMED_MEMBERS } from '../../../core/limit/fleet/policy.ts'
import { integer, milliseconds, text, withDefault } from '../../../core/options/rules.ts'
import {
  LimitClosedError,
  type LimitMember,
  type SharedLimit,
  type TurnsAnswer,
} from '../../../ports/shared-limit.ts'
import { RedisConnection } from '../connection/connection.ts'
import { run } from '../connection/script.ts'
import { type Keys, keysOf } from '../keys.ts'
import { connectionRules, type RedisConnectionOptions, resolveConnected } from '../options.ts'
import { reserve } from './reserve.ts'

export interface RedisLimitOptions extends RedisConnectionOptions {
  /** Names the limit: all that name the same one, under one prefix, share it. */
  readonly name: string
  /** How many processes to reckon with as long as the server has never answered [10]. */
  readonly assumedMembers?: number | undefined
}

/** Members go on alone long before these, so they only say when to try anew. */
export const DEFAULT_LIMIT_TIMEOUT_MS = 1_000
export const DEFAULT_LIMIT_RECONNECT_MAX_MS = 500

const rules = {
  ...connectionRules,
  name: text({ maxLength: 200 }),
  timeoutMs: withDefault(milliseconds({ min: 4 }), DEFAULT_LIMIT_TIMEOUT_MS),
  reconnectMaxMs: withDefault(milliseconds({ min: 1 }), DEFAULT_LIMIT_RECONNECT_MAX_MS),
  assumedMembers: withDefault(integer({ min: 1, max: 1_000_000 }), DEFAULT_ASSUMED_MEMBERS),
}

/** A limit for all processes that use one server. It connects when it is first used. */
export function redisLimit(options: RedisLimitOptions): SharedLimit {
  const { assumedMembers, ...settings } = resolveConnected('redisLimit', rules, options)
  const keys = keysOf(settings.prefix, 'limit', settings.name)
  return new RedisLimit(RedisConnection.of(settings, 'limit'), keys, settings.name, assumedMembers)
}

class RedisLimit implements SharedLimit {
  readonly assumedMembers: number
  readonly #connection: RedisConnection
  readonly #keys: Keys
  readonly #name: string
  readonly #closing = new AbortController()

  constructor(connection: RedisConnection, keys: Keys, name: string, assumedMembers: number) {
    this.#connection = connection
    this.#keys = keys
    this.#name = name
    this.assumedMembers = assumedMembers
  }

  get closing(): AbortSignal {
    return this.#closing.signal
  }

  async reserve(limit: string, asked: TurnsAsked, { id, ttlMs }: LimitMember): Promise<TurnsAnswer> {
    this.#requireOpen()
    const { perSecond, burst, want, ahead, longestWaitMs, knownAheadMs, isAlone } = asked
    const numbers = [perSecond, burst, want, ahead, longestWaitMs, knownAheadMs].map(String)
    const keys = [this.#keys.of(limit), this.#membersOf(limit)] as const
    return run(this.#connection, reserve, [...keys], [...numbers, id, String(ttlMs), isAlone ? '1' : '0'], {
      promptly: true,
    })
  }

  async leave(limit: string, memberId: string): Promise<void> {
    this.#requireOpen()
    const key = this.#membersOf(limit)
    await this.#connection.send('leaving a limit', ['ZREM', key, memberId], { key })
  }

  async close(): Promise<void> {
    this.#closing.abort(new LimitClosedError(this.#name))
    await this.#connection.close()
  }

  #membersOf(limit: string): string {
    return this.#keys.of(limit, 'members')
  }

  #requireOpen(): void {
    this.#closing.signal.throwIfAborted()
  }
}
