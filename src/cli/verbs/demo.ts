import { loadConfig } from '../../config/load.ts'
import { type History, simulateHistory } from '../../demo/history/simulate-history.ts'
import { openDemo } from '../../demo/open-demo.ts'
import { pacedClock } from '../../demo/paced-clock.ts'
import { type Clock, settlesWithin } from '../../ports/clock.ts'
import type { Context } from '../command.ts'
import { type DemoServer, startDemoServer } from '../demo/demo-server.ts'
import { type DemoStore, openDemoStore } from '../demo/demo-store.ts'
import { notes, welcome } from '../demo/welcome.ts'
import type { demoFlags } from '../flags.ts'
import { type ExitCode, type Io, UsageError, untilInterrupted } from '../io.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'

const DEFAULT_SEED = 1
/** Multiplies the speed of the demo. */
const SPEED = 'LAZARET_DEMO_SPEED'
const MAX_SPEED = 100
/** Sets the token in advance, so that a Prometheus can know it before the demo starts. */
const TOKEN = 'LAZARET_DEMO_TOKEN'
/** Ctrl-C returns the terminal within two seconds, whatever hangs. */
const CLOSE_LIMIT_MS = 1_500

type DemoContext = Context<typeof demoFlags>
type Flags = DemoContext['flags'] & { readonly seed: number }

/** Runs a demo shop with failing handlers and the console until Ctrl-C. */
export async function demo({ io, flags }: DemoContext): Promise<ExitCode> {
  // Reading the signal installs its handler, so that Ctrl-C during the start cleans up too.
  void io.interrupted
  const { port, host } = await addressOf(io, flags)
  const clock = pacedClock(io.clock, speedOf(io))
  const { seed = DEFAULT_SEED } = flags
  // The store opens on its own thread in parallel.
  const history = simulateHistory(clock.now(), seed)
  const demoStore = await openDemoStore(io, flags.store, clock)
  try {
    await runDemo(io, { ...flags, port, host, seed }, demoStore, clock, await history)
    return 0
  } finally {
    await settlesWithin(io.clock, CLOSE_LIMIT_MS, demoStore.store.close())
    await demoStore.remove()
  }
}

/** Only a named file applies: a demo in the folder of a service must not listen where that service's server does. */
async function addressOf(io: Io, { port, host, config: file }: DemoContext['flags']) {
  if (file === undefined) return { port, host }
  const { config } = await loadConfig({ file, cwd: io.cwd, env: io.env })
  return { port: port ?? config.server.port, host: host ?? config.server.host }
}

async function runDemo(
  io: Io,
  flags: Flags,
  demoStore: DemoStore,
  clock: Clock,
  history: History,
): Promise<void> {
  const { seed, port, host } = flags
  const { store } = demoStore
  const onError = (error: unknown) =>
    void io.stderr.write(`lazaret demo: ${firstLine(error)}\n`).catch(() => {})
  const shop = await openDemo({ store, clock, seed, history, onError })
  let serving: DemoServer | undefined
  try {
    const token = io.env[TOKEN]
    serving = await startDemoServer({ store, demo: shop, clock, port, host, token, onError })
    await shop.start()
    await printWelcome(io, flags, serving, demoStore)
    await untilInterrupted(io.interrupted)
  } finally {
    const closing = (async () => {
      await serving?.server.close()
      await shop.close()
    })()
    await settlesWithin(io.clock, CLOSE_LIMIT_MS, closing)
  }
}

async function printWelcome(io: Io, flags: Flags, serving: DemoServer, demoStore: DemoStore): Promise<void> {
  const { seed } = flags
  if (flags.json !== true) {
    await io.stdout.write(welcome(io, serving, demoStore, seed))
    return
  }
  await io.stdout.write(jsonLine({ url: serving.url, seed, store: demoStore.url }))
  for (const note of notes(serving)) await io.stderr.write(`${note}\n`)
}

function speedOf({ env }: Io): number {
  const text = env[SPEED] ?? ''
  if (text === '') return 1
  const speed = Number(text)
  if (speed >= 0.1 && speed <= MAX_SPEED) return speed
  throw new UsageError(`$${SPEED} is '${text}'; set it to a number from 0.1 to ${MAX_SPEED}, or unset it`)
}

function firstLine(error: unknown): string {
  return safeText((error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '')
}
