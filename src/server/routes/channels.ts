import type * as z from 'zod'
import { givenFields } from '../../core/options/merge.ts'
import { pageAfter, startPosition } from '../../operations/list-instances.ts'
import { type Clock, settlesWithin } from '../../ports/clock.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import {
  type Channel,
  channelInstances,
  channelList,
  instancesQuery,
  oneChannel,
} from '../schema/channels.ts'
import { iso } from '../schema/common.ts'
import { channelTrend, trendQuery } from '../schema/watch.ts'
import { type NamedStore, withFaults } from '../stores/federation.ts'
import type { RemoteConsumer } from '../stores/fleet-reader.ts'
import type { LocalConsumer } from '../stores/local-consumers.ts'
import { waitingStats } from '../stores/search-stats.ts'
import { addSeries } from '../stores/stats-cache.ts'
import {
  channelConsumers,
  type LocalWithLag,
  localInstance,
  ownReport,
  remoteInstance,
} from '../views/channel-consumers.ts'
import { pointView, watchView } from '../views/watch.ts'
import type { ChannelWatch } from '../watch/snapshot-reader.ts'
import { downsample, sumSnapshots } from '../watch/sum-snapshots.ts'

const CHANNEL = `${API}/channels/:channel`
const MINUTES_SHOWN = 60
/** The list has only the channels with the most letters, because each costs a query. */
const MAX_CHANNELS = 200
const HOUR_MS = 3_600_000
/** More points than a screen can show. */
const MAX_POINTS = 240
/** The time that brokers have to count. */
const LAG_WAIT_MS = 2_000

/** The parts of the server that lists and changes of channels need. */
export type ChannelContext = Pick<
  ServerContext,
  'stores' | 'consumers' | 'fleet' | 'statsCache' | 'snapshotReader' | 'masks' | 'clock' | 'announce'
>

const route = routeFor<ChannelContext>()
export const channelRoutes = [
  route({
    method: 'GET',
    path: `${API}/channels`,
    about:
      'Lists the channels that have letters or a consumer in a living process: breakers, pauses, rates, letters, inflow and the last snapshot.',
    answer: channelList,
    handle: ({ context }) => listChannels(context),
  }),
  route({
    method: 'GET',
    path: `${CHANNEL}/instances`,
    about:
      'Lists the living processes that consume a channel, with the breaker, pauses and rates of each: first the process of the server, then the others in the order of service, start and id.',
    params: oneChannel,
    query: instancesQuery,
    answer: channelInstances,
    handle: ({ context, params, query }) => listInstances(context, params.channel, query),
  }),
  route({
    method: 'GET',
    path: `${CHANNEL}/trend`,
    about: 'Returns the snapshots of a channel over the last hours, as points of a chart.',
    params: oneChannel,
    query: trendQuery,
    answer: channelTrend,
    async handle({ context: { stores, snapshotReader, clock }, params: { channel }, query: { hours } }) {
      const to = clock.now()
      const from = Math.max(0, Math.floor(to - hours * HOUR_MS))
      const { found, faults } = await stores.each(named => snapshotReader.history(named, channel, from))
      const points = downsample(sumSnapshots(found.map(({ value }) => value)), MAX_POINTS)
      return { channel, from: iso(from), to: iso(to), points: points.map(pointView), ...withFaults(faults) }
    },
  }),
]

type Counts = Readonly<Record<string, number>>

export async function listChannels(context: ChannelContext) {
  const { found, faults } = await context.stores.each(async ({ store: { deadLetters } }) => {
    const [all, held] = await Promise.all([deadLetters.stats(), waitingStats(deadLetters)])
    return { all: all.byChannel, held: held.map(({ byChannel }) => byChannel) }
  })
  const all = found.map(({ value }) => value.all)
  const held = found.flatMap(({ value }) => value.held)
  const remote = Map.groupBy(await context.fleet.remoteConsumers(), ({ channel }) => channel)
  const live = [...context.consumers.all().map(({ health }) => health.channel), ...remote.keys()]
  const watches = Map.groupBy(await context.snapshotReader.all(), ({ channel }) => channel)
  const watching = [...watches].filter(([, each]) => each.some(needsAttention)).map(([channel]) => channel)
  const channels = [...new Set([...live, ...all.flatMap(Object.keys), ...watching])]
    .map(channel => ({ channel, letters: { waiting: countOf(held, channel), total: countOf(all, channel) } }))
    .sort((a, b) => b.letters.waiting - a.letters.waiting || (a.channel < b.channel ? -1 : 1))
    .slice(0, MAX_CHANNELS)
  const stores = found.map(({ name, store }) => ({ name, store }))
  return {
    channels: await Promise.all(
      channels.map(async each => ({
        ...(await channelView(context, stores, remote, each)),
        watch: watchView(watches.get(each.channel) ?? [], context.snapshotReader.policy, context.masks),
      })),
    ),
    ...withFaults(faults),
  }
}

/** A channel without letters may have messages in its dead-letter queue. */
function needsAttention({ newestFirst: [{ depth }], alerts }: ChannelWatch): boolean {
  return depth > 0 || alerts.length > 0
}

function countOf(counts: readonly Counts[], channel: string): number {
  return counts.reduce((sum, each) => sum + (Object.hasOwn(each, channel) ? each[channel]! : 0), 0)
}

async function channelView(
  context: ChannelContext,
  stores: readonly NamedStore[],
  remote: ReadonlyMap<string, readonly RemoteConsumer[]>,
  { channel, letters }: Pick<Channel, 'channel' | 'letters'>,
): Promise<Channel> {
  const series = await Promise.all(
    stores.map(named => context.statsCache.inflow(named, { channel }).catch(() => [] as readonly number[])),
  )
  const perMinute = addSeries(series, 2 * MINUTES_SHOWN).slice(MINUTES_SHOWN)
  return {
    channel,
    consumers: channelConsumers(
      await withLags(context.consumers.of(channel), context.clock),
      remote.get(channel) ?? [],
    ),
    letters,
    inflow: { perMinute, lastHour: perMinute.reduce((sum, each) => sum + each, 0) },
  }
}

async function listInstances(
  { consumers, fleet, clock }: ChannelContext,
  channel: string,
  { handler, limit, cursor }: z.output<typeof instancesQuery>,
) {
  const { faults } = await fleet.list()
  const remote = (await fleet.remoteConsumers()).filter(
    each => each.channel === channel && (handler ?? each.handler) === each.handler,
  )
  const processes = new Map(remote.map(each => [each.processId, each.process]))
  const listing = { name: 'instances', filter: givenFields({ channel, handler }) }
  const page = pageAfter([...processes.values()], startPosition, listing, { limit, cursor })
  const own = ownReport(await fleet.instances())
  const local = cursor === undefined ? await withLags(consumers.of(channel, handler), clock) : []
  return {
    instances: [
      ...local.map(each => localInstance(each, own)),
      ...page.rows.flatMap(({ report }) =>
        remote.filter(each => each.processId === report.id).map(remoteInstance),
      ),
    ],
    cursor: page.cursor,
    ...withFaults(faults),
  }
}

/** A broker that cannot count, or does not answer in time, has no lag. */
function withLags(local: readonly LocalConsumer[], clock: Clock): Promise<LocalWithLag[]> {
  return Promise.all(
    local.map(async each => {
      const asked = each.consumer.lag().catch(() => undefined)
      return { ...each, lag: (await settlesWithin(clock, LAG_WAIT_MS, asked)) ? await asked : undefined }
    }),
  )
}
