import { type HandlerStatus, withOutboxAdmin } from '../../adapters/postgres/operating/admin.ts'
import type { Context } from '../command.ts'
import type { outboxFlags } from '../flags/outbox.ts'
import type { ExitCode } from '../io.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor } from '../print/style.ts'
import { type Column, Table } from '../print/table.ts'
import { isoAndRelative } from '../print/times.ts'
import { outboxUrl } from './outbox-migrate.ts'

export async function outboxStatus({ io, flags }: Context<typeof outboxFlags>): Promise<ExitCode> {
  const url = await outboxUrl(io, flags)
  return withOutboxAdmin<ExitCode>(url, async admin => {
    const { handlers, consumers } = await admin.status()
    if (flags.json) {
      const document = { version: admin.version, consumers, handlers: handlers.map(outside) }
      await io.stdout.write(jsonLine(document))
      return 0
    }
    const table = new Table(columns(io.clock.now()), paintFor(io.stdout, io.env), io.stdout.columns)
    if (handlers.length > 0) await io.stdout.write(table.page(handlers))
    const none = handlers.length === 0 ? ', nothing was enqueued and nobody has subscribed yet' : ''
    await io.stderr.write(`schema version ${admin.version}, consumers at work: ${consumers}${none}\n`)
    return 0
  })
}

function outside({ oldestPendingAt, handler, ...status }: HandlerStatus) {
  const at = oldestPendingAt === undefined ? null : new Date(oldestPendingAt).toISOString()
  return { ...status, handler: handler ?? null, oldestPendingAt: at }
}

function columns(now: number): readonly Column<HandlerStatus>[] {
  return [
    { title: 'CHANNEL', cell: ({ channel }) => safeText(channel), shrinksTo: 12 },
    { title: 'HANDLER', cell: ({ handler }) => (handler === undefined ? '(nobody)' : safeText(handler)) },
    { title: 'PENDING', cell: ({ pending }) => String(pending) },
    { title: 'WAITING', cell: ({ waiting }) => String(waiting) },
    { title: 'IN FLIGHT', cell: ({ inFlight }) => String(inFlight) },
    { title: 'FAILED', cell: ({ failed }) => String(failed) },
    { title: 'ORDER', cell: ({ isByKey }) => (isByKey ? 'by key' : 'none'), dropAt: 2 },
    {
      title: 'OLDEST PENDING',
      cell: ({ oldestPendingAt }) =>
        oldestPendingAt === undefined ? '' : isoAndRelative(oldestPendingAt, now),
      dropAt: 1,
    },
  ]
}
