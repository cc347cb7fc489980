import { type HandlerStatus, withKafkaAdmin } from '../../adapters/kafka/admin/admin.ts'
import { optionsOfUrl } from '../../adapters/kafka/url.ts'
import type { Context } from '../command.ts'
import type { kafkaDeclareFlags, kafkaFlags } from '../flags.ts'
import type { ExitCode, Io } from '../io.ts'
import { printDeclared } from '../print/declared.ts'
import { printStatus } from '../print/handler-status.ts'
import { safeText } from '../print/safe-text.ts'
import type { Column } from '../print/table.ts'
import { serverUrl } from '../server-url.ts'

/** Short, because a person waits for the answer. */
const TIMEOUT_MS = 5_000
const DEFAULT_URL = 'kafka://localhost:9092'

/** Creates the topics of each channel and reports each result, because one failure says nothing about the others. */
export async function kafkaDeclare({
  io,
  flags,
  args,
}: Context<typeof kafkaDeclareFlags>): Promise<ExitCode> {
  const options = {
    ...(await clusterOptions(io, flags)),
    partitions: flags.partitions,
    replicationFactor: flags['replication-factor'],
    from: flags.from,
    sessionTimeoutMs: flags['session-timeout'],
  }
  return withKafkaAdmin(options, admin =>
    printDeclared(io, flags.json, 'topics', args, flags.handler, (channel, handler) =>
      admin.declare(channel, handler, flags.ordered === true),
    ),
  )
}

/** Without a channel it shows all handlers that have topics. */
export async function kafkaStatus({ io, flags, args }: Context<typeof kafkaFlags>): Promise<ExitCode> {
  return withKafkaAdmin(await clusterOptions(io, flags), async admin => {
    const all: HandlerStatus[] = []
    for (const found of await admin.handlers(args)) all.push(await admin.status(found))
    return printStatus(io, flags.json, args, all, {
      columns: COLUMNS,
      nothing: 'no handler has topics on this cluster',
      missing: channel =>
        `no topics of a handler found; create them with: lazaret kafka declare ${channel} --handler NAME`,
    })
  })
}

async function clusterOptions(io: Io, flags: Context<typeof kafkaFlags>['flags']) {
  const url = await serverUrl(io, flags, {
    type: 'kafka',
    variable: 'LAZARET_KAFKA_URL',
    fallback: DEFAULT_URL,
  })
  return {
    ...optionsOfUrl(url),
    group: flags.group,
    topic: flags.topic,
    retryTopic: flags['retry-topic'],
    deadLetterTopic: flags['dead-letter-topic'],
    heldTopic: flags['held-topic'],
    connectTimeoutMs: TIMEOUT_MS,
    clock: io.clock,
  }
}

const COLUMNS: readonly Column<HandlerStatus>[] = [
  { title: 'CHANNEL', cell: ({ channel }) => safeText(channel), shrinksTo: 12 },
  { title: 'HANDLER', cell: ({ handler }) => safeText(handler), shrinksTo: 12 },
  { title: 'PARTITIONS', cell: ({ partitions }) => String(partitions ?? 'missing'), dropAt: 1 },
  { title: 'CONSUMERS', cell: ({ consumers }) => String(consumers), dropAt: 2 },
  { title: 'LAG', cell: ({ lag }) => String(lag) },
  { title: 'WAITING', cell: ({ waiting }) => String(waiting) },
  { title: 'DEAD', cell: ({ deadLetters }) => String(deadLetters) },
]
