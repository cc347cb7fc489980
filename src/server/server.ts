import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { createIdSource } from '../core/event/uuid.ts'
import { DEFAULT_WATCH } from '../core/watch/options.ts'
import { toBroker, waysBack } from '../replay/ways-back.ts'
import { Callers } from './auth/callers.ts'
import { Pace } from './auth/pace.ts'
import { Permissions } from './auth/permissions.ts'
import { ConsoleFiles } from './console/files.ts'
import { ListenError } from './errors.ts'
import { createApp } from './http/app.ts'
import { Hosts, isLoopback } from './http/hosts.ts'
import { openApi } from './http/openapi.ts'
import { type Listening, listenOn, stopListening } from './listen.ts'
import { Live } from './live/live.ts'
import { lookAt } from './live/look.ts'
import { Metering } from './metering.ts'
import { isStore, resolveServer, type ServerOptions } from './options.ts'
import type { Room } from './room.ts'
import { ROUTES } from './routes/index.ts'
import { Consumers } from './stores/consumers.ts'
import { Depths } from './stores/depths.ts'
import { Federation, type NamedStore } from './stores/federation.ts'
import { Figures } from './stores/figures.ts'
import { LetterGauges } from './stores/letter-gauges.ts'
import { Queues } from './watch/queues.ts'
import { startWatching } from './watch/start.ts'
import { Watched } from './watch/watched.ts'
import { Watchman } from './watch/watchman.ts'
import { Background } from './work/background.ts'
import { startCollecting } from './work/collecting.ts'
import { ServerLog } from './work/log.ts'
import { ReplayRunner } from './work/replay-runner.ts'
import { startSchedules } from './work/schedules.ts'

export const DEFAULT_PORT = 4_600
export const DEFAULT_HOST = '127.0.0.1'
const ONLY_STORE = 'main'

export interface ListenOptions {
  /** 0 takes any that is free [4600]. */
  readonly port?: number | undefined
  /** [127.0.0.1] */
  readonly host?: string | undefined
}

export interface LazaretServer {
  /** Answers a request: what a Hono, Express or Fastify app mounts, and what tests call. */
  fetch(request: Request): Promise<Response>
  listen(options?: ListenOptions): Promise<Listening>
  /**
   * Ends streams, lets replays come to a safe point, though no longer than seconds, and requests to their end. Twice is
   * safe. Stores stay open.
   */
  close(): Promise<void>
}

/** Nothing is started before the first request or `listen`. */
export function createServer(options: ServerOptions): LazaretServer {
  return new HttpServer(options)
}

class HttpServer implements LazaretServer {
  readonly #room: Room
  readonly #app: ReturnType<typeof createApp>
  readonly #listening = new Set<Server>()
  #closing: Promise<void> | undefined

  constructor(options: ServerOptions) {
    this.#room = furnish(options)
    const files = new ConsoleFiles(options.consoleDir, this.#room.clock)
    this.#app = createApp(ROUTES, this.#room, request => files.serve(request))
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    this.#start()
    return this.#app.fetch(request)
  }

  async listen({ port = DEFAULT_PORT, host = DEFAULT_HOST }: ListenOptions = {}): Promise<Listening> {
    if (this.#closing !== undefined) throw new ListenError('is closed; create another one')
    if (!isLoopback(host) && !this.#room.callers.areNamed)
      throw new ListenError(
        `listens on ${host} only with tokens, because others can reach it there; give tokens, or the host ${DEFAULT_HOST}`,
      )
    const { server, url, port: bound } = await listenOn(this.fetch, { port, host })
    this.#room.hosts.bind(host)
    this.#listening.add(server)
    this.#start()
    return { url, port: bound, close: () => this.close() }
  }

  /** A server that changes nothing does nothing by itself either. */
  #start(): void {
    const { settings, background } = this.#room
    if (!settings.readOnly) background.start()
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    const { live, background, metering, clock } = this.#room
    live.close()
    metering.close()
    const stopped = [...this.#listening].map(server => stopListening(server, clock))
    await Promise.all([...stopped, background.close()])
  }
}

function furnish(options: ServerOptions): Room {
  const given = resolveServer(options)
  const { clock, random, masks, tokens, readOnly, replayTarget, schemas, tracing, onError } = given
  const stores = new Federation(isStore(given.stores) ? { [ONLY_STORE]: given.stores } : given.stores, clock)
  const consumers = new Consumers(given.consumers, clock)
  const newId = createIdSource(random)
  const around: Room['around'] = {
    clock,
    newId,
    schemaOf: channel => (Object.hasOwn(schemas, channel) ? schemas[channel] : undefined),
    downstreamFault: channel => consumers.downstreamFault(channel),
  }
  const collectors = given.collectors.map(({ collector }) => collector)
  const targetOf: Room['targetOf'] = ({ store: { broker } }) =>
    waysBack(collectors, broker === undefined ? replayTarget : toBroker(broker, replayTarget))
  const version = versionOfPackage()
  const letterGauges = new LetterGauges(stores, consumers, clock)
  const metering = new Metering({
    metrics: given.metrics,
    prefix: given.metricsPrefix,
    sources: [...given.consumers, ...given.dispatchers, () => letterGauges.read()],
    clock,
  })
  const { observer } = metering
  const owner = `server ${newId(clock.now()).slice(-12)}`
  const work = { stores, around, owner, targetOf, observer, tracing, onError }
  const depths = new Depths(consumers, collectors, clock)
  const watched = new Watched(stores, given.watch === 'off' ? DEFAULT_WATCH : given.watch, clock)
  const queues = new Queues(depths, given.collectors, stores)
  const watchmanOf = (named: NamedStore) =>
    new Watchman({
      named,
      watched,
      queues: () => queues.of(named),
      notifier: given.notifier,
      masks,
      clock,
      onSnapshots: () => room.live.touch('channels'),
      onError,
    })
  const log = new ServerLog(given.logger)
  const runner = new ReplayRunner({
    ...work,
    log,
    onChange: () => room.live.touch('replays', 'letters', 'groups'),
  })
  const room: Room = {
    hosts: new Hosts(given.allowedHosts),
    callers: new Callers(tokens),
    permissions: new Permissions(readOnly),
    pace: new Pace(given.rateLimit),
    stores,
    figures: new Figures(clock),
    consumers,
    depths,
    metering,
    watched,
    live: new Live(clock, () => lookAt(room)),
    runner,
    background: new Background(runner, clock, () => {
      const ends = [
        startSchedules(given, work),
        startCollecting(given.collectors, stores, clock, log),
        startWatching(given.watch === 'off' ? [] : stores.all, watchmanOf, clock),
      ]
      return async () => void (await Promise.all(ends.map(end => end())))
    }),
    around,
    masks,
    clock,
    demo: given.extensions.demo,
    version,
    describe: once(() => openApi(ROUTES, version)),
    settings: {
      readOnly,
      needsApproval: given.needsApproval,
      replayDefaults: given.replayDefaults,
      retentionMs: given.retentionMs,
      degradedAt: given.degradedAt,
    },
    targetOf,
    sendsUnbrokered: replayTarget !== undefined,
    collects: broker => collectors.some(({ name }) => name === broker),
    onError,
  }
  return room
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
