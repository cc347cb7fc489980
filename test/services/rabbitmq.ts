import { existsSync } from 'node:fs'
import { connect } from 'amqplib'
import { findPackage } from './debian.ts'
import { givenBinary } from './given-binaries.ts'
import { RabbitmqNode } from './rabbitmq-node.ts'

/** The variable that asks for a cluster: how many nodes each test file starts. */
export const RABBITMQ_NODES = 'LAZARET_TEST_RABBITMQ_NODES'
const BINARY = '/usr/lib/rabbitmq/bin/rabbitmq-server'

/** A server for tests. One that was given from outside cannot be stopped, so tests of stopping ask `node`. */
export interface RabbitmqService {
  readonly url: string
  /** Where clients connect. */
  readonly node: RabbitmqNode | undefined
  /** All of its cluster. */
  readonly nodes: readonly RabbitmqNode[]
  close(): Promise<void>
}

export type Rabbitmq =
  | { readonly found: true; start(): Promise<RabbitmqService>; readonly isPrivate: boolean }
  | { readonly found: false; readonly why: string }

/**
 * RabbitMQ for tests: the one LAZARET_TEST_AMQP_URL names, else the programs in the folder that
 * LAZARET_TEST_RABBITMQ_BINARIES names, else Debian's, which is installed where that can be done without asking. Programs
 * are started on free ports with folders of their own. Without any the tests that need it are skipped with the reason,
 * except in CI, where that is a failure.
 */
export async function findRabbitmq(): Promise<Rabbitmq> {
  const given = process.env['LAZARET_TEST_AMQP_URL']
  if (given !== undefined && given !== '')
    return { found: true, isPrivate: false, start: () => useGiven(given) }
  const own = givenBinary('RABBITMQ', 'rabbitmq-server') ?? BINARY
  const found = await findPackage('rabbitmq-server', async () => existsSync(own))
  return found.found ? { found: true, isPrivate: true, start: () => startOwn(own) } : found
}

async function useGiven(url: string): Promise<RabbitmqService> {
  await (await connect(url)).close()
  return { url, node: undefined, nodes: [], close: async () => {} }
}

async function startOwn(binary: string): Promise<RabbitmqService> {
  const nodes = await RabbitmqNode.createCluster(binary, Number(process.env[RABBITMQ_NODES] || 1))
  const close = async () => {
    await Promise.all(nodes.map(node => node.remove()))
  }
  try {
    await Promise.all(nodes.map(node => node.start()))
  } catch (error) {
    await close()
    throw error
  }
  return { url: nodes[0]!.url, node: nodes[0], nodes, close }
}
