import { createHash, randomBytes } from 'node:crypto'
import { isLoopback } from '../../core/options/loopback.ts'
import type { Demo } from '../../demo/open-demo.ts'
import type { ShopStore } from '../../demo/shop.ts'
import type { Clock } from '../../ports/clock.ts'
import { createServer, type LazaretServer, ListenError, type TokenOptions } from '../../server/index.ts'

export const DEFAULT_PORT = 4_600
const LOOPBACK = '127.0.0.1'
/** The demo takes a minute, so snapshots must be frequent enough to show a trend. */
const WATCHED_EVERY_MS = 5_000
/** The number of ports to try, from the default port on. */
const PORTS_TRIED = 30

interface DemoListenOptions {
  readonly store: ShopStore
  readonly demo: Demo
  readonly clock: Clock
  /** The requested port; without it the first free one. */
  readonly port: number | undefined
  readonly host: string | undefined
  /** The token for a non-loopback address [a random one]. */
  readonly token: string | undefined
  readonly onError: (error: unknown) => void
}

export interface DemoServer {
  readonly server: LazaretServer
  readonly url: string
  readonly port: number
  /** Whether the user requested this port. */
  readonly isPortRequested: boolean
  /** The token that the console requires; undefined on a loopback address. */
  readonly token: string | undefined
  readonly hasConsole: boolean
}

interface DemoServerOptions extends Pick<DemoListenOptions, 'store' | 'demo' | 'clock' | 'onError'> {
  readonly tokens: readonly TokenOptions[]
}

/** Creates the server of a demo. It does not listen yet. */
export function createDemoServer({ store, demo, ...options }: DemoServerOptions): LazaretServer {
  return createServer({
    service: 'shop',
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
  const token = isLoopback(host) ? undefined : options.token || randomBytes(24).toString('base64url')
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
  // The first error explains the problem best, because no other port helped.
  throw first
}

function adminToken(token: string): TokenOptions {
  return { name: 'demo', role: 'admin', sha256: createHash('sha256').update(token).digest('hex') }
}
