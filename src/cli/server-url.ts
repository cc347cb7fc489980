import { brokerType } from '../config/brokers.ts'
import { loadConfig } from '../config/load.ts'
import { type Io, UsageError } from './io.ts'

interface ServerKind {
  readonly type: ReturnType<typeof brokerType>
  /** The environment variable with the URL. */
  readonly variable: string
  readonly fallback: string
}

const NAMES = {
  rabbitmq: 'RabbitMQ',
  kafka: 'Kafka',
  nats: 'NATS',
  redis: 'Redis',
  postgres: 'Postgres',
} as const

/**
 * The flag before the environment, the environment before the brokers and collectors of the config. All users of the machine
 * can see a password on the command line.
 */
export async function serverUrl(
  io: Io,
  flags: { readonly url?: string | undefined; readonly config?: string | undefined },
  { type, variable, fallback }: ServerKind,
): Promise<string> {
  const typed = flags.url ?? io.env[variable]
  if (typed !== undefined && flags.config === undefined) return typed
  const { config, file } = await loadConfig({ file: flags.config, cwd: io.cwd, env: io.env })
  if (typed !== undefined) return typed
  const inConfig = [...Object.values(config.brokers ?? {}), ...Object.values(config.collectors ?? {})]
  const urls = new Set(inConfig.map(({ url }) => url).filter(url => brokerType(url) === type))
  const [first = fallback] = urls
  if (urls.size > 1)
    throw new UsageError(
      `${type}: ${file} has ${urls.size} ${NAMES[type]} URLs; choose one with --url or $${variable}`,
    )
  return first
}
