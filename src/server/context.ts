import { readFileSync } from 'node:fs'
import { SerialQueue } from '../adapter-kit/serial-queue.ts'
import { createIdSource } from '../core/event/uuid.ts'
import { DEFAULT_WATCH } from '../core/watch/options.ts'
import { type KeyBroker, KeyUnblocker } from '../operations/unblock-keys.ts'
import { consumerGates } from '../replay/consumer-gates.ts'
import { fleetGate } from '../replay/fleet-gate.ts'
import { replayThroughFleet } from '../replay/fleet-target.ts'
import { type ReplayBroker, replayToBroker, routeReplays } from '../replay/routes.ts'
import { type ReplayEnvironment, type ReplayTarget, withRoutes } from '../replay/target.ts'
import { joinFleet } from '../runtime/fleet/join-fleet.ts'
import { Authenticator } from './auth/authenticator.ts'
import { Permissions } from './auth/permissions.ts'
import { RequestLimiter } from './auth/request-limiter.ts'
import { createSignIn } from './auth/sign-in.ts'
import { AllowedHosts } from './http/allowed-hosts.ts'
import { MetricsEndpoint } from './metrics-endpoint.ts'
import { isStore, resolveServer, type ServerOptions } from './options.ts'
import type { Topic } from './schema/stream.ts'
import { SearchAccess } from './search/access.ts'
import { MaskedGroupTexts } from './search/masked-group-texts.ts'
import { Federation, type NamedStore } from './stores/federation.ts'
import { FleetReader } from './stores/fleet-reader.ts'
import { HealthCheck } from './stores/health-check.ts'
import { LetterGauges } from './stores/letter-gauges.ts'
import { LocalConsumers } from './stores/local-consumers.ts'
import { QueueDepths } from './stores/queue-depths.ts'
import { StatsCache } from './stores/stats-cache.ts'
import { ChangeStream } from './stream/change-stream.ts'
import { StreamLimiter } from './stream/stream-limiter.ts'
import { readStreamState } from './stream/stream-state.ts'
import { SnapshotReader } from './watch/snapshot-reader.ts'
import { StoreAlertWatcher } from './watch/store-alert-watcher.ts'
import { StoreQueueDepths } from './watch/store-queue-depths.ts'
import { ChannelWatcher } from './watch/watcher.ts'
import { startCollecting } from './work/collecting.ts'
import { type LeaderTask, runOnLeader } from './work/leader-election.ts'
import { ServerLog } from './work/log.ts'
import { ReplayRunner } from './work/replay-runner.ts'
import { startSchedules } from './work/schedules.ts'

const ONLY_STORE = 'main'

/** The parts that routes share. Each route declares the parts that it needs. */
export type ServerContext = ReturnType<typeof createServerContext>

/** Creates the parts of a server from its options. It starts nothing. */
export function createServerContext(options: ServerOptions) {
  const given = resolveServer(options)
  const { clock, random, masks, readOnly, needsApproval, replayDefaults, degradedAt, tracing, onError } =
    given
  const { retentionMs, expireUndecidedAfterMs, metrics, metricsPrefix, schemas, replayTarget } = given
  const { demo } = given.extensions
  const collectors = given.collectors.map(({ collector }) => collector)
  const stores = new Federation(isStore(given.stores) ? { [ONLY_STORE]: given.stores } : given.stores, clock)
  const consumers = new LocalConsumers(given.consumers)
  const fleet = new FleetReader(stores, consumers, clock)
  const depths = new QueueDepths(consumers, collectors, clock)
  const statsCache = new StatsCache(clock)
  const snapshotReader = new SnapshotReader(
    stores,
    given.watch === 'off' ? DEFAULT_WATCH : given.watch,
    clock,
    channel => consumers.of(channel).flatMap(({ health }) => health.watch ?? []),
  )
  const retention = { retentionMs, expireUndecidedAfterMs }
  const streamSources = { stores, consumers, fleet, statsCache, snapshotReader, retention, clock, demo }
  const changeStream = new ChangeStream(
    clock,
    () => readStreamState(streamSources),
    new StreamLimiter(given.streams),
  )
  const permissions = new Permissions(readOnly)
  const agents = given.agents === 'off' ? undefined : given.agents

  const letterGauges = new LetterGauges(stores, consumers, clock)
  const sources = [...given.consumers, ...given.dispatchers, () => letterGauges.read()]
  const metricsEndpoint = new MetricsEndpoint({ metrics, prefix: metricsPrefix, sources, clock })

  const newId = createIdSource(random)
  const gates = consumerGates(given.consumers, clock)
  const askFleet = fleetGate(
    stores.all.flatMap(({ store }) => store.fleet ?? []),
    clock,
  )
  const environment: ReplayEnvironment = {
    clock,
    newId,
    schemaOf: (channel, handler) =>
      Object.hasOwn(schemas, channel) ? schemas[channel] : gates.schemaOf?.(channel, handler),
    async downstreamFault(channel, sink) {
      const own = await gates.downstreamFault?.(channel, sink)
      if (typeof own === 'string') return own
      const others = await askFleet(channel, sink)
      // The consumers of this process are in the fleet too, unless it has not joined.
      return own === undefined && others.answer.answeredBy === 'nobody' ? own : others
    },
  }
  const targets = new Map<NamedStore['store'], ReplayTarget | undefined>()
  /** One target for each store, because it remembers the processes of the fleet. */
  const targetOf = ({ store }: NamedStore) => {
    if (!targets.has(store)) {
      const { broker } = store
      const others = broker === undefined ? replayTarget : replayToBroker(broker, replayTarget)
      const own = routeReplays(collectors, others, given.brokers)
      targets.set(store, replayThroughFleet(store, own, environment))
    }
    return targets.get(store)
  }
  const keyBrokers = given.brokers.filter(
    (broker): broker is ReplayBroker & KeyBroker => broker.unblockKey !== undefined,
  )
  const log = new ServerLog(given.logger)
  const signIn = given.signIn && createSignIn(given.signIn, given.basePath, { clock, log })
  const replaying = {
    ...{ stores, environment, targetOf, observer: metricsEndpoint.observer, tracing, masks, onError },
    owner: `server ${newId(clock.now()).slice(-12)}`,
  }
  const onChange = () => changeStream.touch('replays', 'letters', 'groups')
  const runner = new ReplayRunner({ ...replaying, log, onChange })

  const startWatching = () => {
    const queues = new StoreQueueDepths(depths, given.collectors, stores)
    const shared = { snapshotReader, notifier: given.notifier, masks, clock, onError }
    const onSnapshots = () => changeStream.touch('channels')
    return (given.watch === 'off' ? [] : stores.all).flatMap(named => {
      const store = stores.all.length > 1 ? named.name : undefined
      const how = { ...shared, named, store, queues: () => queues.of(named), onSnapshots }
      const tasks: LeaderTask[] = [new ChannelWatcher(how)]
      const { notifier } = given
      if (notifier !== undefined)
        tasks.push(
          new StoreAlertWatcher({ ...how, notifier, statsCache, retention, policy: snapshotReader.policy }),
        )
      return tasks.map(task => runOnLeader(task, named.store.ledger, clock))
    })
  }

  /** The consumers and dispatchers of this process, in the fleet of the first store that keeps one. */
  const joinOwnFleet = () => {
    const { service, version, release, dispatchers } = given
    const shared = stores.all.find(({ store }) => store.fleet !== undefined)
    if (service === undefined || shared === undefined) return undefined
    const { store } = shared
    const parts = { consumers: given.consumers, dispatchers }
    return joinFleet({ store, service, version, release, ...parts, clock, random, onError })
  }

  return {
    hosts: new AllowedHosts(given.allowedHosts, signIn?.address),
    authenticator: new Authenticator(given.tokens, signIn),
    signIn,
    permissions,
    requestLimiter: new RequestLimiter(given.rateLimit),
    /** What agents may do; undefined if they may not even read. */
    agents,
    agentLimiter: new RequestLimiter(agents?.rateLimit ?? given.rateLimit),
    agentApprovals: new SerialQueue(),
    stores,
    consumers,
    fleet,
    statsCache,
    healthCheck: new HealthCheck(stores, depths, clock),
    searches: new SearchAccess(masks, permissions, clock),
    groupTexts: new MaskedGroupTexts(masks, clock),
    metricsEndpoint,
    snapshotReader,
    changeStream,
    runner,
    masks,
    clock,
    demo,
    version: versionOfPackage(),
    basePath: given.basePath,
    readOnly,
    needsApproval,
    replayDefaults,
    retention,
    degradedAt,
    /** The replay target of a store; undefined when this server cannot send its letters. */
    targetOf,
    /** The environment for plans with letters of a store. */
    environmentOf(named: NamedStore): ReplayEnvironment {
      const target = targetOf(named)
      const reason = `${named.store.url} cannot deliver events, so this server cannot send its letters`
      if (target === undefined) return { ...environment, routeOf: () => ({ kind: 'none', reason }) }
      return withRoutes(environment, target)
    },
    /** Unblocks the keys of letters of a store, for one request. */
    keysOf({ store }: Pick<NamedStore, 'store'>): KeyUnblocker {
      return new KeyUnblocker(store, { brokers: () => keyBrokers, clock })
    },
    /** Announces a change through this server: it drops caches and notifies the readers of the stream. */
    announce(...topics: readonly Topic[]): void {
      statsCache.clear()
      changeStream.touch(...topics)
    },
    /** Starts the background work of the server. The returned function stops it. */
    startWork(): () => Promise<void> {
      const ends = [
        startSchedules(given, replaying),
        ...given.collectors.map(each => startCollecting(each, stores, clock, log)),
        ...startWatching(),
      ]
      const member = joinOwnFleet()
      runner.start()
      return async () => void (await Promise.all([member?.close(), ...ends.map(end => end())]))
    },
    onError,
  }
}

function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
