import { type LoadedConfig, loadConfig } from '../../config/load.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import type { AlertNotifier } from '../../integrations/notify/index.ts'
import type { Broker } from '../../ports/broker.ts'
import type { Collector } from '../../ports/collector.ts'
import type { LogFields, Logger, LogLevel } from '../../ports/logger.ts'
import type { Store } from '../../ports/store.ts'
import { createServer, type LazaretServer } from '../../server/index.ts'
import { openBrokers } from '../brokers.ts'
import { openCollectors } from '../collectors.ts'
import type { Context } from '../command.ts'
import type { serveFlags } from '../flags.ts'
import { type ExitCode, type Io, untilInterrupted } from '../io.ts'
import { alertCollector, openNotifier } from '../notifier.ts'
import { jsonLine } from '../print/json.ts'
import { chooseStore } from '../session.ts'

type Flags = Context<typeof serveFlags>['flags']

export async function serve({ io, flags }: Context<typeof serveFlags>): Promise<ExitCode> {
  const load = () => loadConfig({ file: flags.config, cwd: io.cwd, env: io.env })
  let running = await startServer(io, flags, await load())
  const hangups = watchHangups(io)
  try {
    if (flags.json) await io.stdout.write(jsonLine({ url: running.url }))
    await io.stderr.write(`Lazaret listens on ${running.url}\nPress Ctrl-C to stop\n`)
    while (await hangups.next()) running = await restarted(running, load, io, flags)
    return 0
  } finally {
    hangups.stop()
    await running.close()
  }
}

/** SIGHUPs until Ctrl-C. Several that come during a restart are one. */
function watchHangups({ onHangup, stdin, interrupted }: Io) {
  let isPending = false
  let wake = () => {}
  const hungUp = () => {
    isPending = true
    wake()
  }
  // A server in a terminal ends with the terminal, which says so by the same signal.
  const stop = stdin.isTerminal ? () => {} : onHangup(hungUp)
  return {
    stop,
    /** Resolves with true after a SIGHUP, with false after Ctrl-C. */
    async next(): Promise<boolean> {
      const hangup = new Promise<void>(resolve => {
        wake = resolve
      })
      if (!isPending) await Promise.race([hangup, untilInterrupted(interrupted)])
      isPending = false
      return !interrupted.aborted
    },
  }
}

/** Closes the server and starts another one with the new settings. With faults in them, the server stays as it is. */
async function restarted(
  running: RunningServer,
  load: () => Promise<LoadedConfig>,
  io: Io,
  flags: Flags,
): Promise<RunningServer> {
  const say = (text: string) => io.stderr.write(`lazaret: ${text}\n`)
  let loaded: LoadedConfig
  try {
    loaded = await load()
  } catch (error) {
    await say(`the settings stay as they are, because the new ones have faults:\n${problemOf(error)}`)
    return running
  }
  if (running.isInMemory) {
    await say('the settings stay as they are, because a restart would lose the letters of the store memory:')
    return running
  }
  await running.close()
  try {
    const next = await startServer(io, flags, loaded)
    await say(`new settings; Lazaret listens on ${next.url}`)
    return next
  } catch (error) {
    const next = await startServer(io, flags, running.loaded)
    await say(`the old settings at ${next.url}, because the new ones do not work: ${problemOf(error)}`)
    return next
  }
}

interface RunningServer {
  readonly loaded: LoadedConfig
  readonly url: string
  readonly isInMemory: boolean
  close(): Promise<void>
}

async function startServer(io: Io, flags: Flags, loaded: LoadedConfig): Promise<RunningServer> {
  const { config } = loaded
  const onError = (error: unknown) => void io.stderr.write(`lazaret: ${problemOf(error)}\n`).catch(() => {})
  const { stores, isInMemory } = await openStores(io, flags.store, loaded)
  let notifier: AlertNotifier | undefined
  let brokers: readonly Pick<Broker, 'name' | 'publish' | 'close'>[] = []
  let server: LazaretServer | undefined
  let closed: Promise<void> | undefined
  const closeParts = async () => {
    try {
      await server?.close()
    } finally {
      await notifier?.close()
      await Promise.all(brokers.map(broker => broker.close()))
      await closeAll(stores)
    }
  }
  const close = () => {
    closed ??= closeParts()
    return closed
  }
  try {
    notifier = await openNotifier(config, stores, io)
    brokers = await openBrokers(config, Object.values(stores), io, onError)
    const { port, host, stores: _, ...settings } = config.server
    const { stages, perSecond, haltRefailRatio, maxAge, needsApproval } = config.replay
    const { automaticReplay } = config
    server = createServer({
      ...settings,
      basePath: flags['base-path'] ?? settings.basePath,
      needsApproval: settings.needsApproval ?? needsApproval,
      stores,
      masks: config.masks,
      replayDefaults: { stages, perSecond, haltRefailRatio, maxAgeMs: maxAge },
      retentionMs: config.retention,
      expireUndecidedAfterMs: config.expireUndecidedAfter,
      automaticReplay: automaticReplay && { ...automaticReplay, maxAgeMs: automaticReplay.maxAge },
      cleanup: config.cleanup,
      watch: config.watch,
      brokers,
      collectors: [...(await openCollectors(config, io, onError)), ...alertsOf(notifier, stores)],
      notifier,
      clock: io.clock,
      random: io.random,
      logger: stderrLogger(io),
      onError,
    })
    const { url } = await server.listen({ port: flags.port ?? port, host: flags.host ?? host })
    return { loaded, url, isInMemory, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Opens the store of the flag, else the stores of `server.stores`, else the default store. */
async function openStores(
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
