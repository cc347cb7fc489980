import { readFileSync } from 'node:fs'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { createIdSource } from '../core/event/uuid.ts'
import { DEFAULT_WATCH } from '../core/watch/options.ts'
import type { WayBack } from '../ports/collector.ts'
import { type Surroundings, wayBackThrough } from '../replay/target.ts'
import { toBroker, waysBack } from '../replay/ways-back.ts'
import { Callers } from './auth/callers.ts'
import { Pace } from './auth/pace.ts'
import { Permissions } from './auth/permissions.ts'
import { Hosts } from './http/hosts.ts'
import { openApi } from './http/openapi.ts'
import { Live } from './live/live.ts'
import { lookAt } from './live/look.ts'
import { StreamPlaces } from './live/places.ts'
import { Metering } from './metering.ts'
import { isStore, resolveServer, type ServerOptions } from './options.ts'
import type { Room } from './room.ts'
import { ROUTES } from './routes/index.ts'
import { SearchAccess } from './search/access.ts'
import { ShownGroups } from './search/group-texts.ts'
import { Consumers } from './stores/consumers.ts'
import { Depths } from './stores/depths.ts'
import { Federation, type NamedStore } from './stores/federation.ts'
import { Figures } from './stores/figures.ts'
import { LetterGauges } from './stores/letter-gauges.ts'
import { Probe } from './stores/probe.ts'
import { Queues } from './watch/queues.ts'
import { startWatching } from './watch/start.ts'
import { Watched } from './watch/watched.ts'
import { Watchman } from './watch/watchman.ts'
import { Background } from './work/background.ts'
import { startCollecting } from './work/collecting.ts'
import { ServerLog } from './work/log.ts'
import { ReplayRunner } from './work/replay-runner.ts'
import { startSchedules } from './work/schedules.ts'

const ONLY_STORE = 'main'

type Given = ReturnType<typeof resolveServer>

/** What is looked at: stores, the consumers of this process, and what lies in the queues of brokers. */
type Sources = Pick<Room, 'stores' | 'consumers' | 'depths'>

/** Makes of the options everything that handlers work with. Nothing is started yet. */
export function furnish(options: ServerOptions): Room {
  const given = resolveServer(options)
  const { clock } = given
  const sources = sourcesOf(given)
  const watched = new Watched(sources.stores, given.watch === 'off' ? DEFAULT_WATCH : given.watch, clock)
  const metering = meteringOf(given, sources)
  const live = new Live(clock, () => lookAt(room), new StreamPlaces(given.streams))
  const replaying = replayingOf(given, sources, metering)
  const log = new ServerLog(given.logger)
  const onChange = () => live.touch('replays', 'letters', 'groups')
  const runner = new ReplayRunner({ ...replaying, log, onChange })
  const version = versionOfPackage()
  const door = doorOf(given)
  const starts = [
    () => startSchedules(given, replaying),
    () => startCollecting(given.collectors, sources.stores, clock, log),
    () => startWatchingAll(given, sources, watched, () => live.touch('channels')),
  ]
  const room: Room = {
    ...sources,
    ...door,
    figures: new Figures(clock),
    probe: new Probe(sources.stores, sources.depths, clock),
    searches: new SearchAccess(given.masks, door.permissions, clock),
    shownGroups: new ShownGroups(given.masks, clock),
    metering,
    watched,
    live,
    runner,
    background: new Background(runner, clock, () => startAll(starts)),
    aroundOf: replaying.aroundOf,
    targetOf: replaying.targetOf,
    masks: given.masks,
    clock,
    demo: given.extensions.demo,
    version,
    describe: once(() => openApi(ROUTES, version)),
    settings: settingsOf(given),
    onError: given.onError,
  }
  return room
}

function sourcesOf(given: Given): Sources {
  const { clock } = given
  const stores = isStore(given.stores) ? { [ONLY_STORE]: given.stores } : given.stores
  const consumers = new Consumers(given.consumers, clock)
  return {
    stores: new Federation(stores, clock),
    consumers,
    depths: new Depths(consumers, collectorsOf(given), clock),
  }
}

function collectorsOf({ collectors }: Given) {
  return collectors.map(({ collector }) => collector)
}

/** Who is let in, and how often. */
function doorOf({ allowedHosts, tokens, readOnly, rateLimit }: Given) {
  return {
    hosts: new Hosts(allowedHosts),
    callers: new Callers(tokens),
    permissions: new Permissions(readOnly),
    pace: new Pace(rateLimit),
  } satisfies Partial<Room>
}

function settingsOf(given: Given): Room['settings'] {
  const { readOnly, needsApproval, replayDefaults, degradedAt } = given
  const { retentionMs, expireUndecidedAfterMs } = given
  const retention = { retentionMs, expireUndecidedAfterMs }
  return { readOnly, needsApproval, replayDefaults, retention, degradedAt }
}

function meteringOf(given: Given, { stores, consumers }: Sources): Metering {
  const { metrics, metricsPrefix: prefix, dispatchers, clock } = given
  const letterGauges = new LetterGauges(stores, consumers, clock)
  const sources = [...given.consumers, ...dispatchers, () => letterGauges.read()]
  return new Metering({ metrics, prefix, sources, clock })
}

/** What replays need, be they run by hand or on a schedule. */
function replayingOf(given: Given, { stores, consumers }: Sources, { observer }: Metering) {
  const { clock, random, schemas, replayTarget, tracing, onError } = given
  const newId = createIdSource(random)
  const around: Surroundings = {
    clock,
    newId,
    schemaOf: channel => (Object.hasOwn(schemas, channel) ? schemas[channel] : undefined),
    downstreamFault: channel => consumers.downstreamFault(channel),
  }
  const collectors = collectorsOf(given)
  const targetOf: Room['targetOf'] = ({ store: { broker } }) =>
    waysBack(collectors, broker === undefined ? replayTarget : toBroker(broker, replayTarget))
  const aroundOf: Room['aroundOf'] = named => {
    const target = targetOf(named)
    const wayBack = (letter: DeadLetter, to: string | undefined): WayBack =>
      target === undefined ? nothingSends(named) : wayBackThrough(target, letter, to)
    return { ...around, wayBack }
  }
  const owner = `server ${newId(clock.now()).slice(-12)}`
  return { stores, around, aroundOf, owner, targetOf, observer, tracing, onError }
}

function nothingSends({ store: { url } }: NamedStore): WayBack {
  return { kind: 'none', why: `${url} is no broker, so nothing can be sent from here` }
}

/** Starts to watch the channels of every store; the function returned ends it. */
function startWatchingAll(
  given: Given,
  { stores, depths }: Sources,
  watched: Watched,
  onSnapshots: () => void,
): () => Promise<void> {
  const { collectors, notifier, masks, clock, onError } = given
  const queues = new Queues(depths, collectors, stores)
  const hasOthers = stores.all.length > 1
  const watchmanOf = (named: NamedStore) =>
    new Watchman({
      named,
      store: hasOthers ? named.name : undefined,
      watched,
      queues: () => queues.of(named),
      notifier,
      masks,
      clock,
      onSnapshots,
      onError,
    })
  return startWatching(given.watch === 'off' ? [] : stores.all, watchmanOf, clock)
}

function startAll(starts: readonly (() => () => Promise<void>)[]): () => Promise<void> {
  const ends = starts.map(start => start())
  return async () => void (await Promise.all(ends.map(end => end())))
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
