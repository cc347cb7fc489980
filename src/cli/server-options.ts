import type { Config } from '../config/config.ts'
import type { LoadedConfig } from '../config/load.ts'
import { LazaretError } from '../core/failure/errors.ts'
import type { LogFields, Logger, LogLevel } from '../ports/logger.ts'
import type { Store } from '../ports/store.ts'
import type { ServerOptions } from '../server/index.ts'
import type { Io } from './io.ts'
import { jsonLine } from './print/json.ts'
import { chooseStore } from './session.ts'

/** The options of a server by its config. Brokers, collectors and the notifier are opened apart, because they are closed. */
export function serverOptions(
  config: Config,
  io: Pick<Io, 'clock' | 'random'>,
  stores: Readonly<Record<string, Store>>,
  onError: (error: unknown) => void,
): ServerOptions {
  const { port: _, host: __, stores: ___, ...settings } = config.server
  const { stages, perSecond, haltRefailRatio, maxAge, needsApproval } = config.replay
  const { automaticReplay } = config
  return {
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
    agents: config.agents,
    clock: io.clock,
    random: io.random,
    onError,
  }
}

/** Opens the store of the flag, else the stores of `server.stores`, else the default store. */
export async function openStores(
  io: Io,
  typed: string | undefined,
  loaded: LoadedConfig,
): Promise<{ readonly stores: Readonly<Record<string, Store>>; readonly isInMemory: boolean }> {
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
  const isInMemory = Object.values(urls).some(url => url === 'memory:')
  return { stores: Object.fromEntries(opened), isInMemory }
}

export async function closeAll(stores: Readonly<Record<string, Store>>): Promise<void> {
  await Promise.all(Object.values(stores).map(store => store.close()))
}

export function problemOf(error: unknown): string {
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
