import { setFlagsFromString } from 'node:v8'
import { type LoadedConfig, loadConfig } from '../../config/load.ts'
import type { AlertNotifier } from '../../integrations/notify/index.ts'
import type { Collector } from '../../ports/collector.ts'
import type { Store } from '../../ports/store.ts'
import { createServer, type LazaretServer } from '../../server/index.ts'
import { openBrokers } from '../brokers.ts'
import { openCollectors } from '../collectors.ts'
import type { Context } from '../command.ts'
import type { serveFlags } from '../flags.ts'
import { type ExitCode, type Io, untilInterrupted } from '../io.ts'
import { alertCollector, openNotifier } from '../notifier.ts'
import { jsonLine } from '../print/json.ts'
import { closeAll, openStores, problemOf, serverOptions, stderrLogger } from '../server-options.ts'

type Flags = Context<typeof serveFlags>['flags']

/**
 * The objects of a server live for one request, and a plan of 200 000 letters has 50 MB of them in use. V8 would rather let the
 * garbage grow to several times of that than collect it. `node --optimize-for-size` would say the same, but nobody starts a server so.
 */
const SMALL_HEAP = '--optimize-for-size'

export async function serve({ io, flags }: Context<typeof serveFlags>): Promise<ExitCode> {
  setFlagsFromString(SMALL_HEAP)
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
  let brokers: Awaited<ReturnType<typeof openBrokers>> = []
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
    const { port, host } = config.server
    const options = serverOptions(config, io, stores, onError)
    server = createServer({
      ...options,
      basePath: flags['base-path'] ?? options.basePath,
      brokers,
      collectors: [...(await openCollectors(config, io, onError)), ...alertsOf(notifier, stores)],
      notifier,
      logger: stderrLogger(io),
    })
    const { url } = await server.listen({ port: flags.port ?? port, host: flags.host ?? host })
    return { loaded, url, isInMemory, close }
  } catch (error) {
    await close()
    throw error
  }
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
