import { createHash, randomBytes } from 'node:crypto'
import type { Demo } from '../../demo/open-demo.ts'
import type { ShopStore } from '../../demo/shop.ts'
import type { Clock } from '../../ports/clock.ts'
import { createServer, type LazaretServer, ListenError, type TokenOptions } from '../../server/index.ts'

export const DEFAULT_PORT = 4_600
const LOOPBACK = '127.0.0.1'
/** Its story is told in a minute, so a trend has to be seen within it. */
const WATCHED_EVERY_MS = 5_000
/** So many ports are tried, from the usual one on. */
const PORTS_TRIED = 30

interface DemoListenOptions {
  readonly store: ShopStore
  readonly demo: Demo
  readonly clock: Clock
  /** The one that was asked for; without it the first that is free. */
  readonly port: number | undefined
  readonly host: string | undefined
  /** What the console asks for where others can reach it; without it one that nobody knows yet. */
  readonly token: string | undefined
  readonly onError: (error: unknown) => void
}

export interface DemoServer {
  readonly server: LazaretServer
  readonly url: string
  readonly port: number
  /** Whether someone asked for this port. */
  readonly isPortRequested: boolean
  /** What the console asks for where others can reach it. */
  readonly token: string | undefined
  readonly hasConsole: boolean
}

interface DemoServerOptions extends Pick<DemoListenOptions, 'store' | 'demo' | 'clock' | 'onError'> {
  readonly tokens: readonly TokenOptions[]
}

/** The server of a demo, which does not listen yet. */
export function createDemoServer({ store, demo, ...options }: DemoServerOptions): LazaretServer {
  return createServer({
    stores: { shop: store },
    consumers: demo.consumers,
    dispatchers: demo.dispatchers,
    metrics: demo.metrics,
    schemas: demo.schemas,
    replayTarget: demo.replayTarget,
    extensions: { demo: demo.control },
    watch: { everyMs: WATCHED_EVERY_MS },
    random: demo.random,
    ...options,
  })
}

export async function startDemoServer(options: DemoListenOptions): Promise<DemoServer> {
  const { store, demo, clock, port, host = LOOPBACK, onError } = options
  const token = isOwnMachine(host) ? undefined : options.token || randomBytes(24).toString('base64url')
  const tokens = token === undefined ? [] : [adminToken(token)]
  const server = createDemoServer({ store, demo, clock, tokens, onError })
  const { url, port: bound } = await (port === undefined
    ? listenOnFirstFree(server, host)
    : server.listen({ port, host }))
  const { ok: hasConsole } = await server.fetch(new Request(`http://${LOOPBACK}:${bound}/`))
  return { server, url, port: bound, isPortRequested: port !== undefined, token, hasConsole }
}

async function listenOnFirstFree(server: LazaretServer, host: string) {
  let first: ListenError | undefined
  for (let port = DEFAULT_PORT; port < DEFAULT_PORT + PORTS_TRIED; port++) {
    try {
      return await server.listen({ port, host })
    } catch (error) {
      if (!(error instanceof ListenError)) throw error
      first ??= error
    }
  }
  // Of all refusals the first says best what is wrong: another port would not have helped.
  throw first
}

function isOwnMachine(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

function adminToken(token: string): TokenOptions {
  return { name: 'demo', role: 'admin', sha256: createHash('sha256').update(token).digest('hex') }
}
