import { type HandlerStatus, withOutboxAdmin } from '../../adapters/postgres/operating/admin.ts'
import { printMigrations } from '../../adapters/postgres/schema/migrations.ts'
import { loadConfig } from '../../config/load.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import type { Context } from '../command.ts'
import type { migrateFlags, outboxFlags } from '../flags.ts'
import { type ExitCode, type Io, UsageError } from '../io.ts'
import { readStoreUrl } from '../open-store.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { type Column, tableOn } from '../print/table.ts'
import { isoAndRelative } from '../print/times.ts'
import { chooseStore } from '../session.ts'

export async function outboxMigrate({ io, flags }: Context<typeof migrateFlags>): Promise<ExitCode> {
  if (flags.print) {
    await io.stdout.write(printMigrations())
    return 0
  }
  const url = await outboxUrl(io, flags)
  return withOutboxAdmin<ExitCode>(url, async admin => {
    const steps = await admin.migrate()
    const { version } = admin
    if (flags.json) await io.stdout.write(jsonLine({ version, applied: steps.map(step => step.version) }))
    else {
      for (const step of steps) await io.stdout.write(`${step.version}  ${step.name}\n`)
      const how = steps.length === 0 ? 'was already up to date' : 'is up to date'
      await io.stderr.write(`schema lazaret ${how}, version ${version}\n`)
    }
    return 0
  })
}

/** The URL of the store. Throws unless it is Postgres. */
export async function outboxUrl(
  io: Io,
  flags: { readonly store?: string | undefined; readonly config?: string | undefined },
): Promise<string> {
  const loaded = await loadConfig({ file: flags.config, cwd: io.cwd, env: io.env })
  const { url, folder } = chooseStore(flags.store, io, loaded)
  if (readStoreUrl(url, folder).kind === 'postgres') return url
  throw new UsageError(
    `the store ${withoutCredentials(url)} has no outbox, only Postgres has one; use --store postgres://HOST/DATABASE`,
  )
}

export async function outboxStatus({ io, flags }: Context<typeof outboxFlags>): Promise<ExitCode> {
  const url = await outboxUrl(io, flags)
  return withOutboxAdmin<ExitCode>(url, async admin => {
    const { handlers, consumers } = await admin.status()
    if (flags.json) {
      const document = { version: admin.version, consumers, handlers: handlers.map(statusJson) }
      await io.stdout.write(jsonLine(document))
      return 0
    }
    const table = tableOn(io, columns(io.clock.now()))
    if (handlers.length > 0) await io.stdout.write(table.page(handlers))
    const none = handlers.length === 0 ? '; no event is enqueued and no handler has subscribed yet' : ''
    await io.stderr.write(`schema version ${admin.version}, active consumers: ${consumers}${none}\n`)
    return 0
  })
}

function statusJson({ oldestPendingAt, handler, ...status }: HandlerStatus) {
  const at = oldestPendingAt === undefined ? null : new Date(oldestPendingAt).toISOString()
  return { ...status, handler: handler ?? null, oldestPendingAt: at }
}

function columns(now: number): readonly Column<HandlerStatus>[] {
  return [
    { title: 'CHANNEL', cell: ({ channel }) => safeText(channel), shrinksTo: 12 },
    { title: 'HANDLER', cell: ({ handler }) => (handler === undefined ? '(none)' : safeText(handler)) },
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
