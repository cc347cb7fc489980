import { API, type Asked, route } from '../http/route.ts'
import type { Room } from '../room.ts'
import {
  breakerBody,
  type Channel,
  type ChannelConsumer,
  channelList,
  oneChannel,
  type PauseBody,
  pauseBody,
} from '../schema/channels.ts'
import type { LiveConsumer } from '../stores/consumers.ts'
import { type NamedStore, partly } from '../stores/federation.ts'
import { addSeries } from '../stores/figures.ts'
import { waitingStats } from '../stores/waiting.ts'
import { isoOr } from '../views/times.ts'
import { watchView } from '../views/watch.ts'
import type { ChannelWatch } from '../watch/watched.ts'
import { announce } from './announce.ts'

const CHANNEL = `${API}/channels/:channel`
const MINUTES_SHOWN = 60
/** Beyond the busiest ones nobody looks, and each costs a question. */
const MOST_CHANNELS = 200

export const channelRoutes = [
  route({
    method: 'GET',
    path: `${API}/channels`,
    about:
      'Every channel with letters or with a consumer here: breakers, pauses, rates, letters, inflow, and how it stood at the last snapshot.',
    answer: channelList,
    handle: ({ room }) => listChannels(room),
  }),
  route({
    method: 'POST',
    path: `${CHANNEL}/breaker`,
    about: 'Overrules the breaker of a handler until it is set back to auto.',
    action: 'breaker.force',
    params: oneChannel,
    body: breakerBody,
    answer: channelList,
    async handle(asked) {
      const { room, caller, params, body } = asked
      const found = room.consumers.requireBreaker(params.channel, body.handler)
      await note(asked, found, 'breaker.force', { to: body.to })
      for (const { consumer } of found) consumer.breaker?.force(body.to, caller.name)
      return seen(room, params.channel)
    },
  }),
  route({
    method: 'POST',
    path: `${CHANNEL}/pause`,
    about: 'Stops pulling, until it is resumed.',
    action: 'consumer.pause',
    params: oneChannel,
    body: pauseBody,
    answer: channelList,
    async handle(asked) {
      const found = asked.room.consumers.require(asked.params.channel, asked.body.handler)
      await note(asked, found, 'consumer.pause')
      for (const { consumer } of found) consumer.pause()
      return seen(asked.room, asked.params.channel)
    },
  }),
  route({
    method: 'POST',
    path: `${CHANNEL}/resume`,
    about: 'Pulls again, if it was paused by hand.',
    action: 'consumer.resume',
    params: oneChannel,
    body: pauseBody,
    answer: channelList,
    async handle(asked) {
      const found = asked.room.consumers.require(asked.params.channel, asked.body.handler)
      await note(asked, found, 'consumer.resume')
      for (const { consumer } of found) consumer.resume()
      return seen(asked.room, asked.params.channel)
    },
  }),
]

type Counts = Readonly<Record<string, number>>

async function listChannels(room: Room) {
  const { found, faults } = await room.stores.each(async ({ store: { deadLetters } }) => {
    const [all, held] = await Promise.all([deadLetters.stats(), waitingStats(deadLetters)])
    return { all: all.byChannel, held: held.map(({ byChannel }) => byChannel) }
  })
  const all = found.map(({ value }) => value.all)
  const held = found.flatMap(({ value }) => value.held)
  const live = room.consumers.all().map(({ health }) => health.channel)
  const watches = Map.groupBy(await room.watched.all(), ({ channel }) => channel)
  const watching = [...watches].filter(([, each]) => each.some(isAmiss)).map(([channel]) => channel)
  const channels = [...new Set([...live, ...all.flatMap(Object.keys), ...watching])]
    .map(channel => ({ channel, letters: { waiting: countOf(held, channel), total: countOf(all, channel) } }))
    .sort((a, b) => b.letters.waiting - a.letters.waiting || (a.channel < b.channel ? -1 : 1))
    .slice(0, MOST_CHANNELS)
  const stores = found.map(({ name, store }) => ({ name, store }))
  return {
    channels: await Promise.all(
      channels.map(async each => ({
        ...(await channelView(room, stores, each)),
        watch: watchView(watches.get(each.channel) ?? [], room.watched.policy, room.masks),
      })),
    ),
    ...partly(faults),
  }
}

/** Messages may wait in the dead-letter queue of a channel that has no letter. */
function isAmiss({ newestFirst: [{ depth }], alerts }: ChannelWatch): boolean {
  return depth > 0 || alerts.length > 0
}

function countOf(counts: readonly Counts[], channel: string): number {
  return counts.reduce((sum, each) => sum + (Object.hasOwn(each, channel) ? each[channel]! : 0), 0)
}

/** The channel as it is after a change. */
async function seen(room: Room, channel: string) {
  announce(room, 'channels')
  const { channels, ...rest } = await listChannels(room)
  return { channels: channels.filter(each => each.channel === channel), ...rest }
}

/** A consumer belongs to no store, so what was done to it is written down in the first one. */
async function note(
  { room, caller, params, body }: Asked<{ channel: string }, undefined, PauseBody>,
  found: readonly LiveConsumer[],
  action: string,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const handlers = found.map(({ health }) => health.handler)
  await room.stores.all[0]?.store.audit.append({
    at: room.clock.now(),
    by: caller.name,
    action,
    target: params.channel,
    detail: { ...more, handlers, reason: body.reason },
  })
}

async function channelView(
  room: Room,
  stores: readonly NamedStore[],
  { channel, letters }: Pick<Channel, 'channel' | 'letters'>,
): Promise<Channel> {
  const series = await Promise.all(
    stores.map(named => room.figures.inflow(named, { channel }).catch(() => [] as readonly number[])),
  )
  const perMinute = addSeries(series, 2 * MINUTES_SHOWN).slice(MINUTES_SHOWN)
  return {
    channel,
    consumers: await Promise.all(room.consumers.of(channel).map(each => consumerView(stores, each))),
    letters,
    inflow: { perMinute, lastHour: perMinute.reduce((sum, each) => sum + each, 0) },
  }
}

async function consumerView(
  stores: readonly NamedStore[],
  { consumer, health }: LiveConsumer,
): Promise<ChannelConsumer> {
  const { handler, breakerState, paused, failureRate, active, waiting, lastProcessedAt } = health
  const state = consumer.breaker?.state
  return {
    handler,
    breaker: breakerState,
    retryAt: state?.mode === 'open' ? isoOr(state.until) : undefined,
    paused: [...paused],
    failureRate,
    active,
    waiting,
    lastProcessedAt: isoOr(lastProcessedAt),
    depth: await depthOf(stores, health),
  }
}

/** Known where a store is a broker that counts. */
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
