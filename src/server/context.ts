import { readFileSync } from 'node:fs'
import { createIdSource } from '../core/event/uuid.ts'
import { DEFAULT_WATCH } from '../core/watch/options.ts'
import { type ReplayEnvironment, withWayBack } from '../replay/target.ts'
import { toBroker, waysBack } from '../replay/ways-back.ts'
import { Callers } from './auth/callers.ts'
import { Pace } from './auth/pace.ts'
import { Permissions } from './auth/permissions.ts'
import { Hosts } from './http/hosts.ts'
import { Live } from './live/live.ts'
import { lookAt } from './live/look.ts'
import { StreamPlaces } from './live/places.ts'
import { Metering } from './metering.ts'
import { isStore, resolveServer, type ServerOptions } from './options.ts'
import type { Topic } from './schema/stream.ts'
import { SearchAccess } from './search/access.ts'
import { ShownGroups } from './search/group-texts.ts'
import { Consumers } from './stores/consumers.ts'
import { Depths } from './stores/depths.ts'
import { Federation, type NamedStore } from './stores/federation.ts'
import { Figures } from './stores/figures.ts'
import { LetterGauges } from './stores/letter-gauges.ts'
import { Probe } from './stores/probe.ts'
import { Queues } from './watch/queues.ts'
import { SnapshotReader } from './watch/snapshot-reader.ts'
import { ChannelWatcher } from './watch/watcher.ts'
import { startCollecting } from './work/collecting.ts'
import { ServerLog } from './work/log.ts'
import { ReplayRunner } from './work/replay-runner.ts'
import { startSchedules } from './work/schedules.ts'
import { startDuty } from './work/standby.ts'

const ONLY_STORE = 'main'

/** What a server works with. Nobody takes all of it: each route names the part that it needs. */
export type ServerContext = ReturnType<typeof createServerContext>

/** Makes the parts of a server from its options. Nothing is started yet. */
export function createServerContext(options: ServerOptions) {
  const given = resolveServer(options)
  const { clock, random, masks, readOnly, needsApproval, replayDefaults, degradedAt, tracing, onError } =
    given
  const { retentionMs, expireUndecidedAfterMs, metrics, metricsPrefix, schemas, replayTarget } = given
  const { demo } = given.extensions
  const collectors = given.collectors.map(({ collector }) => collector)
  const stores = new Federation(isStore(given.stores) ? { [ONLY_STORE]: given.stores } : given.stores, clock)
  const consumers = new Consumers(given.consumers, clock)
  const depths = new Depths(consumers, collectors, clock)
  const figures = new Figures(clock)
  const watched = new SnapshotReader(stores, given.watch === 'off' ? DEFAULT_WATCH : given.watch, clock)
  const retention = { retentionMs, expireUndecidedAfterMs }
  const lookedAt = { stores, consumers, figures, watched, retention, clock, demo }
  const live = new Live(clock, () => lookAt(lookedAt), new StreamPlaces(given.streams))
  const permissions = new Permissions(readOnly)

  const letterGauges = new LetterGauges(stores, consumers, clock)
  const sources = [...given.consumers, ...given.dispatchers, () => letterGauges.read()]
  const metering = new Metering({ metrics, prefix: metricsPrefix, sources, clock })

  const newId = createIdSource(random)
  const environment: ReplayEnvironment = {
    clock,
    newId,
    schemaOf: channel => (Object.hasOwn(schemas, channel) ? schemas[channel] : undefined),
    downstreamFault: channel => consumers.downstreamFault(channel),
  }
  const targetOf = ({ store: { broker } }: NamedStore) =>
    waysBack(collectors, broker === undefined ? replayTarget : toBroker(broker, replayTarget))
  const log = new ServerLog(given.logger)
  const replaying = {
    ...{ stores, environment, targetOf, observer: metering.observer, tracing, onError },
    owner: `server ${newId(clock.now()).slice(-12)}`,
  }
  const onChange = () => live.touch('replays', 'letters', 'groups')
  const runner = new ReplayRunner({ ...replaying, log, onChange })

  const startWatching = () => {
    const queues = new Queues(depths, given.collectors, stores)
    const shared = { watched, notifier: given.notifier, masks, clock, onError }
    const onSnapshots = () => live.touch('channels')
    return (given.watch === 'off' ? [] : stores.all).map(named => {
      const store = stores.all.length > 1 ? named.name : undefined
      const how = { ...shared, named, store, queues: () => queues.of(named), onSnapshots }
      return startDuty(new ChannelWatcher(how), named.store.ledger, clock)
    })
  }

  return {
    hosts: new Hosts(given.allowedHosts),
    callers: new Callers(given.tokens),
    permissions,
    pace: new Pace(given.rateLimit),
    stores,
    consumers,
    figures,
    probe: new Probe(stores, depths, clock),
    searches: new SearchAccess(masks, permissions, clock),
    shownGroups: new ShownGroups(masks, clock),
    metering,
    watched,
    live,
    runner,
    masks,
    clock,
    demo,
    version: versionOfPackage(),
    readOnly,
    needsApproval,
    replayDefaults,
    retention,
    degradedAt,
    /** Where a store's replays are sent; undefined when nothing here can send them. */
    targetOf,
    /** What a plan for letters of a store is made with. */
    environmentOf(named: NamedStore): ReplayEnvironment {
      const target = targetOf(named)
      const why = `${named.store.url} is no broker, so nothing can be sent from here`
      if (target === undefined) return { ...environment, wayBack: () => ({ kind: 'none', why }) }
      return withWayBack(environment, target)
    },
    /** Something was changed through this server: whoever looks next sees it, and whoever reads the stream is told. */
    announce(...topics: readonly Topic[]): void {
      figures.forget()
      live.touch(...topics)
    },
    /** Starts what the server does beside answering; the function returned ends it. */
    startWork(): () => Promise<void> {
      const ends = [
        startSchedules(given, replaying),
        ...given.collectors.map(each => startCollecting(each, stores, clock, log)),
        ...startWatching(),
      ]
      runner.awake()
      return async () => void (await Promise.all(ends.map(end => end())))
    },
    onError,
  }
}

function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
