import { createHash } from 'node:crypto'
import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { RedisError } from '../errors.ts'
import type { RedisArgument } from './client.ts'
import type { RedisConnection, SendOptions } from './connection.ts'

/** A script in Lua with the name it has in errors. Its keys are all of one slot. */
export interface Script<T> {
  readonly name: string
  readonly text: string
  readonly sha: string
  readonly parse: (reply: unknown) => T
}

/** A Lua function for the server's clock, in milliseconds. The clocks of clients may differ; this one is the same for all. */
export const SERVER_TIME = `
local function server_time()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end`

/** Joins the parts of a script: shared functions first, then the code that uses them. */
export function script<T>(
  name: string,
  parse: (reply: unknown) => T,
  ...parts: readonly string[]
): Script<T> {
  const text = parts.map(part => part.trim()).join('\n')
  return Object.freeze({ name, text, sha: createHash('sha1').update(text).digest('hex'), parse })
}

/** Runs a script by its hash. A server that does not know the script (a new or restarted one) is given the text. */
export async function run<T>(
  connection: RedisConnection,
  { name, text, sha, parse }: Script<T>,
  keys: readonly [string, ...string[]],
  args: readonly RedisArgument[] = [],
  options: SendOptions = {},
): Promise<T> {
  const rest = [String(keys.length), ...keys, ...args]
  const to = { key: keys[0], ...options }
  try {
    return parse(await connection.send(name, ['EVALSHA', sha, ...rest], to))
  } catch (error) {
    if (!(error instanceof RedisError && error.reply === 'NOSCRIPT')) throw error
    return parse(await connection.send(name, ['EVAL', text, ...rest], to))
  }
}

/**
 * Runs scripts whose keys all begin with one root. They are given the root, and a second key only for a cluster that moves
 * their slot. Neither key exists. With one missing key, the new node of the slot would run the script on the keys that have
 * arrived so far. With two, it answers TRYAGAIN until the slot has moved.
 */
export class ScriptRunner {
  readonly #connection: RedisConnection
  readonly #keys: readonly [root: string, second: string]
  readonly #door: OpenState | undefined

  /** Without an open state, the caller checks that the store is open. */
  constructor(connection: RedisConnection, root: string, door?: OpenState) {
    this.#connection = connection
    this.#keys = [root, `${root}:`]
    this.#door = door
  }

  async run<T>(script: Script<T>, args: readonly RedisArgument[], options?: SendOptions): Promise<T> {
    this.#door?.requireOpen()
    return run(this.#connection, script, this.#keys, args, options)
  }

  /** Runs a script that does no harm twice: it is sent again when the connection breaks before its answer came. */
  runIdempotent<T>(script: Script<T>, args: readonly RedisArgument[]): Promise<T> {
    return this.run(script, args, { idempotent: true })
  }
}
