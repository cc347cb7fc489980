import { type HandlerStatus, withNatsAdmin } from '../../adapters/nats/admin/admin.ts'
import type { Context } from '../command.ts'
import type { natsDeclareFlags, natsFlags } from '../flags.ts'
import type { ExitCode, Io } from '../io.ts'
import { printDeclared } from '../print/declared.ts'
import { printStatus } from '../print/handler-status.ts'
import { safeText } from '../print/safe-text.ts'
import type { Column } from '../print/table.ts'
import { serverUrl } from '../server-url.ts'

/** Short, because a person waits for the answer. */
const TIMEOUT_MS = 5_000
const DEFAULT_URL = 'nats://localhost:4222'

/** Creates the streams of each channel and reports each result, because one failure says nothing about the others. */
export async function natsDeclare({ io, flags, args }: Context<typeof natsDeclareFlags>): Promise<ExitCode> {
  const { replicas, retention, from } = flags
  const options = { ...(await serverOptions(io, flags)), replicas, retention, from }
  return withNatsAdmin(options, admin =>
    printDeclared(io, flags.json, 'streams', args, flags.handler, (channel, handler) =>
      admin.declare(channel, handler),
    ),
  )
}

/** Without a channel it shows all handlers that have a consumer. */
export async function natsStatus({ io, flags, args }: Context<typeof natsFlags>): Promise<ExitCode> {
  return withNatsAdmin(await serverOptions(io, flags), async admin => {
    const all: HandlerStatus[] = []
    for (const found of await admin.handlers(args)) all.push(await admin.status(found))
    return printStatus(io, flags.json, args, all, {
      columns: COLUMNS,
      nothing: 'no handler has a consumer on this server',
      missing: channel =>
        `no consumer of a handler found; create it with: lazaret nats declare ${channel} --handler NAME`,
    })
  })
}

async function serverOptions(io: Io, flags: Context<typeof natsFlags>['flags']) {
  const url = await serverUrl(io, flags, {
    type: 'nats',
    variable: 'LAZARET_NATS_URL',
    fallback: DEFAULT_URL,
  })
  return { url, connectTimeoutMs: TIMEOUT_MS, clock: io.clock }
}

const COLUMNS: readonly Column<HandlerStatus>[] = [
  { title: 'CHANNEL', cell: ({ channel }) => safeText(channel), shrinksTo: 12 },
  { title: 'HANDLER', cell: ({ handler }) => safeText(handler), shrinksTo: 12 },
  { title: 'STREAM', cell: ({ stream }) => safeText(stream), dropAt: 1 },
  { title: 'LAG', cell: ({ lag }) => String(lag) },
  { title: 'WAITING', cell: ({ waiting }) => String(waiting) },
  { title: 'DEAD', cell: ({ deadLetters }) => String(deadLetters) },
]
