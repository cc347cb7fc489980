import { createClient } from 'redis'
import { findPackage } from './debian.ts'
import { givenBinary } from './given-binaries.ts'
import { runs } from './prometheus.ts'
import { type RedisConfig, RedisNode } from './redis-node.ts'

const BINARY = 'redis-server'

/** A server for tests. One that was given from outside cannot be stopped, so tests of stopping ask `node`. */
export interface RedisService {
  readonly url: string
  readonly node: RedisNode | undefined
  close(): Promise<void>
}

export type Redis =
  | {
      readonly found: true
      start(config?: RedisConfig): Promise<RedisService>
      readonly isPrivate: boolean
      /** The program, if the server is started from one. */
      readonly binary?: string
    }
  | { readonly found: false; readonly why: string }

/**
 * Redis for tests: the one LAZARET_TEST_REDIS_URL names, else the program in the folder that LAZARET_TEST_REDIS_BINARIES
 * names, else Debian's, which is installed where that can be done without asking. A program is started on a free port with
 * a folder of its own. Without any the tests that need it are skipped with the reason, except in CI, where that is a
 * failure.
 */
export async function findRedis(): Promise<Redis> {
  const given = process.env['LAZARET_TEST_REDIS_URL']
  if (given !== undefined && given !== '')
    return { found: true, isPrivate: false, start: () => useGiven(given) }
  const own = givenBinary('REDIS', BINARY) ?? BINARY
  const found = await findPackage(BINARY, () => runs(own))
  return found.found
    ? { found: true, isPrivate: true, start: config => startOwn(own, config), binary: own }
    : found
}

async function useGiven(url: string): Promise<RedisService> {
  const client = createClient({ url, socket: { reconnectStrategy: false } })
  client.on('error', () => {})
  await client.connect()
  client.destroy()
  return { url, node: undefined, close: async () => {} }
}

async function startOwn(binary: string, config?: RedisConfig): Promise<RedisService> {
  const node = await RedisNode.create(binary, config)
  try {
    await node.start()
  } catch (error) {
    await node.remove()
    throw error
  }
  return { url: node.url, node, close: () => node.remove() }
}
