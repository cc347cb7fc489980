import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findCollector } from '../services/collector.ts'
import { findPackage, type Missing } from '../services/debian.ts'
import type { FoundBinaries } from '../services/debian-suite.ts'
import { binariesVariable, type GivenServer } from '../services/given-binaries.ts'
import { findNpmPackage } from '../services/npm-package.ts'
import { findOpenSearch } from '../services/opensearch.ts'
import { findPgBouncer, PGBOUNCER, PgBouncerNode } from '../services/pgbouncer.ts'
import { findPostgres } from '../services/postgres.ts'
import { RABBITMQ_NODES } from '../services/rabbitmq.ts'
import { RECEIVERS } from '../services/receivers.ts'
import { REDIS_SHARDS } from '../support/redis-cluster.ts'
import type { PreparedCell } from './cell.ts'

const run = promisify(execFile)
const NUMBER = /\d+\.\d+(\.\d+)*/
/** What asks for clusters is unset too. */
const CLUSTERS = [RABBITMQ_NODES, REDIS_SHARDS]
const SERVERS = ['RABBITMQ', 'REDIS', 'POSTGRES', 'NATS'] as const
const KAFKA_VERSION = 'LAZARET_TEST_KAFKA_VERSION'
const URLS = ['AMQP', 'REDIS', 'POSTGRES', 'NATS', 'KAFKA'].map(name => `LAZARET_TEST_${name}_URL`)

/** Nothing that the caller's environment names is used: a cell says what its tests run on. */
export const UNSET: NodeJS.ProcessEnv = Object.fromEntries(
  [...URLS, ...SERVERS.map(binariesVariable), ...CLUSTERS, KAFKA_VERSION].map(name => [name, '']),
)

/** The server that `npm test` uses as well. */
export async function debian12(
  name: string,
  version: () => Promise<string>,
): Promise<PreparedCell | Missing> {
  const found = await findPackage(name, () =>
    version().then(
      () => true,
      () => false,
    ),
  )
  return found.found ? { found: true, version: await version(), env: UNSET } : found
}

/** A server whose programs are in a folder that is found or made. */
export async function onBinaries(
  server: GivenServer,
  finding: Promise<FoundBinaries>,
  version: (binaries: string) => Promise<string>,
): Promise<PreparedCell | Missing> {
  const found = await finding
  if (!found.found) return found
  const { binaries } = found
  return {
    found: true,
    version: await version(binaries),
    env: { ...UNSET, [binariesVariable(server)]: binaries },
  }
}

/** The same with more variables for the tests. */
export async function withEnv(
  env: NodeJS.ProcessEnv,
  preparing: Promise<PreparedCell | Missing>,
): Promise<PreparedCell | Missing> {
  const prepared = await preparing
  return prepared.found ? { ...prepared, env: { ...prepared.env, ...env } } : prepared
}

/** Vitest and every process that tests start run on this Node. */
export async function onNode(release: string): Promise<PreparedCell | Missing> {
  const found = await findNpmPackage(`node-${process.platform}-${process.arch}`, release)
  if (!found.found) return found
  const folder = join(found.folder, 'bin')
  const node = join(folder, 'node')
  const env = { ...UNSET, PATH: `${folder}:${process.env['PATH']}` }
  return { found: true, version: await versionOfProgram(node), env, node }
}

/** Tests get the address of PgBouncer, and cannot stop what is behind it. */
export async function onPgBouncer(): Promise<PreparedCell | Missing> {
  const bouncer = await findPgBouncer()
  if (!bouncer.found) return bouncer
  const postgres = await findPostgres()
  if (!postgres.found) return postgres
  const server = await postgres.start()
  const node = await PgBouncerNode.create(server.node!.port)
  const close = async () => {
    await node.remove()
    await server.close()
  }
  try {
    await node.start()
  } catch (error) {
    await close()
    throw error
  }
  const version = await versionOfProgram(PGBOUNCER)
  return { found: true, version, env: { ...UNSET, LAZARET_TEST_POSTGRES_URL: node.url }, close }
}

/** Maven brings it when the tests start. */
export async function onKafka(version: string): Promise<PreparedCell> {
  return { found: true, version, env: { ...UNSET, [KAFKA_VERSION]: version } }
}

const ASKED = { ...UNSET, [RECEIVERS]: '1' }

/** Go builds it when there is none. */
export async function onCollector(): Promise<PreparedCell | Missing> {
  const found = await findCollector()
  return found.found ? { found: true, version: await versionOfProgram(found.binary), env: ASKED } : found
}

/** Maven brings it when there is none. */
export async function onOpenSearch(): Promise<PreparedCell | Missing> {
  const found = await findOpenSearch()
  return found.found ? { found: true, version: found.version, env: ASKED } : found
}

export async function versionOfProgram(program: string): Promise<string> {
  const { stdout } = await run(program, ['--version'])
  return NUMBER.exec(stdout)![0]
}

/** Its program tells no version without starting, but the folder of its libraries has it in its name. */
export async function versionOfRabbitmq(binaries: string): Promise<string> {
  const names = await readdir(join(binaries, '../lib'))
  return NUMBER.exec(names.find(name => name.startsWith('rabbitmq_server-'))!)![0]
}
