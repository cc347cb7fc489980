import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createClient } from 'redis'
import { findPackage } from './debian.ts'
import { type RedisConfig, RedisNode } from './redis-node.ts'

const run = promisify(execFile)

/** A server for tests. One that was given from outside cannot be stopped, so tests of stopping ask `node`. */
export interface RedisService {
  readonly url: string
  readonly node: RedisNode | undefined
  close(): Promise<void>
}

export type Redis =
  | { readonly found: true; start(config?: RedisConfig): Promise<RedisService>; readonly isPrivate: boolean }
  | { readonly found: false; readonly why: string }

/**
 * Redis for tests: the one LAZARET_TEST_REDIS_URL names, else Debian's, which is installed where that can be done without
 * asking and started on a free port with a folder of its own. Without it the tests that need it are skipped with the
 * reason, except in CI, where that is a failure.
 */
export async function findRedis(): Promise<Redis> {
  const given = process.env['LAZARET_TEST_REDIS_URL']
  if (given !== undefined && given !== '')
    return { found: true, isPrivate: false, start: () => useGiven(given) }
  const found = await findPackage('redis-server', runs)
  return found.found ? { found: true, isPrivate: true, start: startOwn } : found
}

async function useGiven(url: string): Promise<RedisService> {
  const client = createClient({ url, socket: { reconnectStrategy: false } })
  client.on('error', () => {})
  await client.connect()
  client.destroy()
  return { url, node: undefined, close: async () => {} }
}

async function startOwn(config?: RedisConfig): Promise<RedisService> {
  const node = await RedisNode.create(config)
  try {
    await node.start()
  } catch (error) {
    await node.remove()
    throw error
  }
  return { url: node.url, node, close: () => node.remove() }
}

async function runs(): Promise<boolean> {
  return run('redis-server', ['--version']).then(
    () => true,
    () => false,
  )
}
