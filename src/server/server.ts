import type { Server } from 'node:http'
import { isLoopback } from '../core/options/loopback.ts'
import { settlesWithin } from '../ports/clock.ts'
import { AgentEndpoint } from './agents/endpoint.ts'
import { ConsoleFiles } from './console/files.ts'
import { createServerContext, type ServerContext } from './context.ts'
import { createApp } from './http/app.ts'
import { openApi } from './http/openapi.ts'
import { type ConnectionInfo, ListenError, type Listening, listenOn, stopListening } from './listen.ts'
import type { ServerOptions } from './options.ts'
import { ROUTES } from './routes/index.ts'

const DEFAULT_PORT = 4_600
const DEFAULT_HOST = '127.0.0.1'
/** Closing waits at most this long for brokers and stores. Another server continues the unfinished work. */
const TIMEOUT_MS = 5_000

/** Options of `listen()`. */
export interface ListenOptions {
  /** 0 takes any that is free [4600]. */
  readonly port?: number | undefined
  /** [127.0.0.1] */
  readonly host?: string | undefined
}

/** The server that `createServer()` makes. */
export interface LazaretServer {
  /**
   * Answers a request: what a Hono, Express or Fastify app mounts, and what tests call. `connection` has the address of the
   * client; without it the server trusts no header of a proxy.
   */
  fetch(request: Request, connection?: ConnectionInfo): Promise<Response>
  listen(options?: ListenOptions): Promise<Listening>
  /**
   * Ends streams, lets replays come to a safe point, though no longer than seconds, and requests to their end. Twice is
   * safe. Stores stay open.
   */
  close(): Promise<void>
}

/** Creates a server. Its background work starts with the first request or `listen`. */
export function createServer(options: ServerOptions): LazaretServer {
  return new HttpServer(options)
}

class HttpServer implements LazaretServer {
  readonly #context: ServerContext
  readonly #agents: AgentEndpoint
  readonly #app: ReturnType<typeof createApp>
  readonly #listening = new Set<Server>()
  #endWork: (() => Promise<void>) | undefined
  #closing: Promise<void> | undefined

  constructor(options: ServerOptions) {
    this.#context = createServerContext(options)
    const files = new ConsoleFiles(options.consoleDir, this.#context.clock, this.#context.basePath)
    const document = once(() => openApi(ROUTES, this.#context.version, this.#context.basePath))
    this.#agents = new AgentEndpoint(this.#context)
    this.#app = createApp(
      ROUTES,
      { ...this.#context, document },
      request => files.serve(request),
      this.#agents.fetch,
    )
  }

  readonly fetch = async (request: Request, connection?: ConnectionInfo): Promise<Response> => {
    this.#start()
    const { socket, rawHeaders } = connection?.incoming ?? {}
    return this.#app.fetch(request, { from: socket?.remoteAddress, rawHeaders })
  }

  async listen({ port = DEFAULT_PORT, host = DEFAULT_HOST }: ListenOptions = {}): Promise<Listening> {
    if (this.#closing !== undefined) throw new ListenError('the server is closed; create another one')
    if (!isLoopback(host) && this.#context.authenticator.isOpen)
      throw new ListenError(
        `host ${host} needs tokens, because other machines can reach it; give tokens (server.tokens in the config file) or signIn, or use the host ${DEFAULT_HOST}`,
      )
    const { server, url, port: bound } = await listenOn(this.fetch, { port, host })
    this.#context.hosts.bind(host)
    this.#listening.add(server)
    this.#start()
    void this.#context.signIn?.pages?.check()
    return { url: url + this.#context.basePath, port: bound, close: () => this.close() }
  }

  /** A read-only server runs no background work either. */
  #start(): void {
    if (this.#context.readOnly || this.#closing !== undefined) return
    this.#endWork ??= this.#context.startWork()
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    const { changeStream, runner, metricsEndpoint, clock } = this.#context
    changeStream.close()
    metricsEndpoint.close()
    const stopped = [...this.#listening].map(server => stopListening(server, clock))
    const worked = Promise.all([this.#agents.close(), runner.close(), this.#endWork?.()])
    await Promise.all([...stopped, settlesWithin(clock, TIMEOUT_MS, worked)])
  }
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
