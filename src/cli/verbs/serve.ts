import { type LoadedConfig, loadConfig } from '../../config/load.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import type { AlertNotifier } from '../../integrations/notify/index.ts'
import type { Collector } from '../../ports/collector.ts'
import type { LogFields, Logger, LogLevel } from '../../ports/logger.ts'
import type { Store } from '../../ports/store.ts'
import { createServer } from '../../server/index.ts'
import { openCollectors } from '../collectors.ts'
import type { Context } from '../command.ts'
import type { serveFlags } from '../flags.ts'
import { type ExitCode, type Io, untilInterrupted } from '../io.ts'
import { alertCollector, openNotifier } from '../notifier.ts'
import { jsonLine } from '../print/json.ts'
import { chooseStore } from '../session.ts'

export async function serve({ io, flags }: Context<typeof serveFlags>): Promise<ExitCode> {
  const loaded = await loadConfig({ file: flags.config, cwd: io.cwd, env: io.env })
  const { config } = loaded
  const onError = (error: unknown) => void io.stderr.write(`lazaret: ${problemOf(error)}\n`).catch(() => {})
  const stores = await openStores(io, flags.store, loaded)
  let notifier: AlertNotifier | undefined
  try {
    notifier = await openNotifier(config, stores, io)
    const { port, host, stores: _, ...settings } = config.server
    const { stages, perSecond, haltRefailRatio, maxAge, needsApproval } = config.replay
    const { automaticReplay } = config
    const server = createServer({
      ...settings,
      needsApproval: settings.needsApproval ?? needsApproval,
      stores,
      masks: config.masks,
      replayDefaults: { stages, perSecond, haltRefailRatio, maxAgeMs: maxAge },
      retentionMs: config.retention,
      expireUndecidedAfterMs: config.expireUndecidedAfter,
      automaticReplay: automaticReplay && { ...automaticReplay, maxAgeMs: automaticReplay.maxAge },
      cleanup: config.cleanup,
      watch: config.watch,
      collectors: [...(await openCollectors(config, io, onError)), ...alertsOf(notifier, stores)],
      notifier,
      clock: io.clock,
      random: io.random,
      logger: stderrLogger(io),
      onError,
    })
    try {
      const { url } = await server.listen({ port: flags.port ?? port, host: flags.host ?? host })
      if (flags.json) await io.stdout.write(jsonLine({ url }))
      await io.stderr.write(`Lazaret listens on ${url}\nPress Ctrl-C to stop\n`)
      await untilInterrupted(io.interrupted)
    } finally {
      await server.close()
    }
    return 0
  } finally {
    await notifier?.close()
    await closeAll(stores)
  }
}

/** Opens the store of the flag, else the stores of `server.stores`, else the default store. */
async function openStores(
  io: Io,
  typed: string | undefined,
  loaded: LoadedConfig,
): Promise<Readonly<Record<string, Store>>> {
  const { config, folder } = loaded
  const several = typed === undefined ? config.server.stores : undefined
  const chosen = chooseStore(typed, io, loaded)
  const urls = several === undefined ? { main: chosen.url } : several
  const opened = new Map<string, Store>()
  // A collector or a notifier may be the first writer of a store, so the store may have to be created.
  const isWritten = config.collectors !== undefined || config.notify !== undefined
  const creates = isWritten ? 'if-missing' : 'never'
  const base = { config, creates, clock: io.clock } as const
  try {
    for (const [name, url] of Object.entries(urls))
      opened.set(
        name,
        await io.openStore(url, { ...base, folder: several === undefined ? chosen.folder : folder }),
      )
  } catch (error) {
    await closeAll(Object.fromEntries(opened))
    throw error
  }
  return Object.fromEntries(opened)
}

async function closeAll(stores: Readonly<Record<string, Store>>): Promise<void> {
  await Promise.all(Object.values(stores).map(store => store.close()))
}

/** The first store holds alerts that could not be delivered. This collector replays them. */
function alertsOf(
  notifier: AlertNotifier | undefined,
  stores: Readonly<Record<string, Store>>,
): { readonly collector: Collector; readonly store: string }[] {
  const [first] = Object.entries(stores)
  if (notifier === undefined || first === undefined) return []
  const [store, { deadLetters }] = first
  return [{ collector: alertCollector(notifier, deadLetters), store }]
}

function problemOf(error: unknown): string {
  // A LazaretError says what to do, so its stack is not needed.
  if (error instanceof LazaretError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Logs lines of JSON to stderr, for log collectors. */
export function stderrLogger({ stderr, clock }: Pick<Io, 'stderr' | 'clock'>): Logger {
  const at = (level: LogLevel) => (fields: LogFields, message: string) => {
    const time = new Date(clock.now()).toISOString()
    void stderr.write(jsonLine({ level, time, ...fields, msg: message })).catch(() => {})
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
