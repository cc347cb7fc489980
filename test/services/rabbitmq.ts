import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { connect } from 'amqplib'
import { RabbitmqNode } from './rabbitmq-node.ts'

const run = promisify(execFile)
const INSTALL_MS = 900_000
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
  const why = (await isThere()) ? undefined : await install()
  if (why === undefined) return { found: true, isPrivate: true, start: startOwn }
  if (process.env['CI'] === 'true') throw new Error(`RabbitMQ is needed in CI: ${why}`)
  return { found: false, why }
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

async function isThere(): Promise<boolean> {
  return await run('test', ['-x', BINARY]).then(
    () => true,
    () => false,
  )
}

async function install(): Promise<string | undefined> {
  const command = 'apt-get install -y --no-install-recommends rabbitmq-server'
  if (process.getuid?.() !== 0) return `rabbitmq-server is not there; install it with: ${command}`
  try {
    await run('apt-get', ['update'], { timeout: INSTALL_MS })
    const [tool, ...words] = command.split(' ')
    await run(tool!, words, {
      timeout: INSTALL_MS,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    return (await isThere()) ? undefined : `rabbitmq-server is installed, but ${BINARY} is not there`
  } catch (error) {
    return `rabbitmq-server could not be installed: ${error instanceof Error ? error.message.split('\n')[0] : error}`
  }
}
