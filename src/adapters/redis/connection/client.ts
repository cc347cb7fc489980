import type { RedisClientOptions } from 'redis'
import { loadClient } from '../../../adapter-kit/load-client.ts'

/** A word of a command. Texts go out as UTF-8. */
export type RedisArgument = string | Buffer

/**
 * A client as node-redis has it (`createClient()` of the package `redis`, 5 or later). Others fit as long as they look
 * the same from here.
 */
export interface RedisClient {
  readonly isOpen: boolean
  readonly isReady: boolean
  sendCommand(args: readonly RedisArgument[], options?: RedisCommandOptions): Promise<unknown>
  /** Another connection to the same server, not connected yet. */
  duplicate(): RedisClient
  connect(): Promise<unknown>
  /** Immediately: running commands are rejected. */
  destroy(): void
  // biome-ignore lint/suspicious/noExplicitAny: what listens is told whatever the event carries
  on(event: string, listener: (...args: any[]) => void): unknown
}

/** A cluster client of node-redis (`createCluster()`). It needs a key to find the node. */
export interface RedisClusterClient {
  readonly isOpen: boolean
  readonly slots: readonly unknown[]
  sendCommand(
    firstKey: RedisArgument | undefined,
    isReadonly: boolean | undefined,
    args: RedisArgument[],
    options?: RedisCommandOptions,
  ): Promise<unknown>
  duplicate(): RedisClusterClient
  connect(): Promise<unknown>
  destroy(): void
  // biome-ignore lint/suspicious/noExplicitAny: what listens is told whatever the event carries
  on(event: string, listener: (...args: any[]) => void): unknown
}

/** A client of node-redis for servers under Redis Sentinel (`createSentinel()`). It follows the primary. */
export interface RedisSentinelClient {
  readonly isOpen: boolean
  readonly isReady: boolean
  getMasterNode(): unknown
  sendCommand(
    isReadonly: boolean | undefined,
    args: RedisArgument[],
    options?: RedisCommandOptions,
  ): Promise<unknown>
  duplicate(): RedisSentinelClient
  connect(): Promise<unknown>
  destroy(): unknown
  // biome-ignore lint/suspicious/noExplicitAny: what listens is told whatever the event carries
  on(event: string, listener: (...args: any[]) => void): unknown
}

/** A client of node-redis for one server, for servers under Sentinel, or for a cluster. */
export type AnyRedisClient = RedisClient | RedisSentinelClient | RedisClusterClient

/** Options of one command of node-redis. */
export interface RedisCommandOptions {
  /**
   * How the client maps reply types [the mapping of the client]. An empty mapping returns texts as strings, and
   * `{ 36: Buffer }` returns them as buffers.
   */
  readonly typeMapping?: Record<never, never>
}

function isCluster(client: AnyRedisClient): client is RedisClusterClient {
  return 'slots' in client
}

function isSentinel(client: AnyRedisClient): client is RedisSentinelClient {
  return 'getMasterNode' in client
}

/** Each kind of client takes what it needs to find the server, then the command. `key` is one of the command's keys. */
export function sendBy(
  client: AnyRedisClient,
  key: RedisArgument | undefined,
  args: readonly RedisArgument[],
  options: RedisCommandOptions,
): Promise<unknown> {
  if (isCluster(client)) return client.sendCommand(key, false, [...args], options)
  if (isSentinel(client)) return client.sendCommand(false, [...args], options)
  return client.sendCommand(args, options)
}

/** Whether the client sends commands at once. For a cluster this is unknown. */
export function isReady(client: AnyRedisClient): boolean {
  return isCluster(client) ? client.isOpen : client.isReady
}

let neverConnected: { duplicate(overrides: RedisClientOptions): RedisClient } | undefined

/** A client for one connection: it neither reconnects nor queues commands offline, because its creator does. */
export async function createOwnClient(
  url: string,
  name: string,
  connectTimeout: number,
): Promise<RedisClient> {
  const { createClient } = await loadClient('redis', () => import('redis'))
  // createClient() builds a class, which takes about 30 ms of CPU. A copy of a client has the class already.
  neverConnected ??= createClient({ RESP: 2, disableOfflineQueue: true })
  const socket = { connectTimeout, reconnectStrategy: false } as const
  return neverConnected.duplicate({ url, name, socket })
}
