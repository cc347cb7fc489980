import { createHash } from 'node:crypto'
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

/** `parts` are joined: shared functions first, then what is done with them. */
export function script<T>(
  name: string,
  parse: (reply: unknown) => T,
  ...parts: readonly string[]
): Script<T> {
  const text = parts.map(part => part.trim()).join('\n')
  return Object.freeze({ name, text, sha: createHash('sha1').update(text).digest('hex'), parse })
}

/** Runs it by its hash. A server that does not know it (a new one, or one that was started anew) is given the text. */
export async function run<T>(
  on: RedisConnection,
  { name, text, sha, parse }: Script<T>,
  keys: readonly [string, ...string[]],
  args: readonly RedisArgument[] = [],
  options: SendOptions = {},
): Promise<T> {
  const rest = [String(keys.length), ...keys, ...args]
  const to = { key: keys[0], ...options }
  try {
    return parse(await on.send(name, ['EVALSHA', sha, ...rest], to))
  } catch (error) {
    if (!(error instanceof RedisError && error.reply === 'NOSCRIPT')) throw error
    return parse(await on.send(name, ['EVAL', text, ...rest], to))
  }
}
