import { existsSync } from 'node:fs'
import { connect } from 'amqplib'
import { findPackage } from './debian.ts'
import { RabbitmqNode } from './rabbitmq-node.ts'

const BINARY = '/usr/lib/rabbitmq/bin/rabbitmq-server'

/** A server for tests. One that was given from outside cannot be stopped, so tests of stopping ask `node`. */
export interface RabbitmqService {
  readonly url: string
  readonly node: RabbitmqNode | undefined
  close(): Promise<void>
}

export type Rabbitmq =
  | { readonly found: true; start(): Promise<RabbitmqService>; readonly isPrivate: boolean }
  | { readonly found: false; readonly why: string }

/**
 * RabbitMQ for tests: the one LAZARET_TEST_AMQP_URL names, else Debian's, which is installed where that can be done
 * without asking and started on free ports with folders of its own. Without it the tests that need it are skipped with
 * the reason, except in CI, where that is a failure.
 */
export async function findRabbitmq(): Promise<Rabbitmq> {
  const given = process.env['LAZARET_TEST_AMQP_URL']
  if (given !== undefined && given !== '')
    return { found: true, isPrivate: false, start: () => useGiven(given) }
  const found = await findPackage('rabbitmq-server', async () => existsSync(BINARY))
  return found.found ? { found: true, isPrivate: true, start: startOwn } : found
}

async function useGiven(url: string): Promise<RabbitmqService> {
  await (await connect(url)).close()
  return { url, node: undefined, close: async () => {} }
}

async function startOwn(): Promise<RabbitmqService> {
  const node = await RabbitmqNode.create(BINARY)
  await node.start()
  return { url: node.url, node, close: () => node.remove() }
}
