import type { BreakerSnapshot } from '../../runtime/breaker.ts'
import type { ServerContext } from '../context.ts'
import { API, type HandlerInput, routeFor } from '../http/route.ts'
import {
  breakerBody,
  type Channel,
  type ChannelConsumer,
  channelList,
  oneChannel,
  type PauseBody,
  pauseBody,
} from '../schema/channels.ts'
import { iso, isoOr } from '../schema/common.ts'
import type { BreakerStats } from '../schema/consumers.ts'
import { channelTrend, trendQuery } from '../schema/watch.ts'
import { type NamedStore, withFaults } from '../stores/federation.ts'
import type { LocalConsumer } from '../stores/local-consumers.ts'
import { waitingStats } from '../stores/search-stats.ts'
import { addSeries } from '../stores/stats-cache.ts'
import { pick } from '../views/pick.ts'
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

type Context = Pick<
  ServerContext,
  'stores' | 'consumers' | 'statsCache' | 'snapshotReader' | 'masks' | 'clock' | 'announce'
>

const route = routeFor<Context>()
export const channelRoutes = [
  route({
    method: 'GET',
    path: `${API}/channels`,
    about:
      'Lists the channels that have letters or a consumer in this process: breakers, pauses, rates, letters, inflow and the last snapshot.',
    answer: channelList,
    handle: ({ context }) => listChannels(context),
  }),
  route({
    method: 'POST',
    path: `${CHANNEL}/breaker`,
    about: 'Forces the breaker of a handler open or closed until it is set back to auto.',
    action: 'breaker.force',
    params: oneChannel,
    body: breakerBody,
    answer: channelList,
    async handle(input) {
      const { context, caller, params, body } = input
      const found = context.consumers.requireBreaker(params.channel, body.handler)
      await auditChange(input, found, 'breaker.force', { to: body.to })
      for (const { consumer } of found) consumer.breaker?.force(body.to, caller.name)
      return channelAfterChange(context, params.channel)
    },
  }),
  pauseRoute('pause', 'Pauses the consumers of a channel until they are resumed.'),
  pauseRoute('resume', 'Resumes consumers that were paused manually.'),
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

function pauseRoute(verb: 'pause' | 'resume', about: string) {
  return route({
    method: 'POST',
    path: `${CHANNEL}/${verb}`,
    about,
    action: `consumer.${verb}`,
    params: oneChannel,
    body: pauseBody,
    answer: channelList,
    async handle(input) {
      const { context, params, body } = input
      const found = context.consumers.require(params.channel, body.handler)
      await auditChange(input, found, `consumer.${verb}`)
      for (const { consumer } of found) consumer[verb]()
      return channelAfterChange(context, params.channel)
    },
  })
}

type Counts = Readonly<Record<string, number>>

async function listChannels(context: Context) {
  const { found, faults } = await context.stores.each(async ({ store: { deadLetters } }) => {
    const [all, held] = await Promise.all([deadLetters.stats(), waitingStats(deadLetters)])
    return { all: all.byChannel, held: held.map(({ byChannel }) => byChannel) }
  })
  const all = found.map(({ value }) => value.all)
  const held = found.flatMap(({ value }) => value.held)
  const live = context.consumers.all().map(({ health }) => health.channel)
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
        ...(await channelView(context, stores, each)),
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

/** Announces a change, and returns the channel as it is now. */
async function channelAfterChange(context: Context, channel: string) {
  context.announce('channels')
  const { channels, ...rest } = await listChannels(context)
  return { channels: channels.filter(each => each.channel === channel), ...rest }
}

/** Records the change in the audit log of the first store, because a consumer belongs to no store. */
async function auditChange(
  { context, caller, params, body }: HandlerInput<Context, { channel: string }, undefined, PauseBody>,
  found: readonly LocalConsumer[],
  action: string,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const handlers = found.map(({ health }) => health.handler)
  await context.stores.all[0]?.store.audit.append({
    at: context.clock.now(),
    by: caller.name,
    action,
    target: params.channel,
    detail: { ...more, handlers, reason: body.reason },
  })
}

async function channelView(
  context: Context,
  stores: readonly NamedStore[],
  { channel, letters }: Pick<Channel, 'channel' | 'letters'>,
): Promise<Channel> {
  const series = await Promise.all(
    stores.map(named => context.statsCache.inflow(named, { channel }).catch(() => [] as readonly number[])),
  )
  const perMinute = addSeries(series, 2 * MINUTES_SHOWN).slice(MINUTES_SHOWN)
  return {
    channel,
    consumers: await Promise.all(context.consumers.of(channel).map(each => consumerView(stores, each))),
    letters,
    inflow: { perMinute, lastHour: perMinute.reduce((sum, each) => sum + each, 0) },
  }
}

async function consumerView(
  stores: readonly NamedStore[],
  { consumer, health }: LocalConsumer,
): Promise<ChannelConsumer> {
  const state = consumer.breaker?.state
  return {
    ...pick(health, 'handler', 'failureRate', 'active', 'waiting'),
    breaker: health.breakerState,
    retryAt: state?.mode === 'open' ? isoOr(state.until) : undefined,
    breakerStats: consumer.breaker && statsOf(consumer.breaker.snapshot()),
    paused: [...health.paused],
    lastProcessedAt: isoOr(health.lastProcessedAt),
    depth: await depthOf(stores, health),
  }
}

function statsOf({ lastFailureAt, lastChangeAt, ...snapshot }: BreakerSnapshot): BreakerStats {
  return {
    ...pick(snapshot, 'calls', 'successes', 'failures', 'rejected', 'opened'),
    lastFailureAt: isoOr(lastFailureAt),
    lastChangeAt: isoOr(lastChangeAt),
  }
}

/** The depth is known only if the store is a broker that can count. */
async function depthOf(
  stores: readonly NamedStore[],
  { channel, handler }: { readonly channel: string; readonly handler: string },
): Promise<number | undefined> {
  const depths = await Promise.all(stores.map(({ store }) => store.broker?.depth?.(channel, handler))).catch(
    () => [],
  )
  const known = depths.flatMap(depth => depth ?? [])
  return known.length === 0 ? undefined : known.reduce((sum, depth) => sum + depth, 0)
}
