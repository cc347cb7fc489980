import { API, route } from '../http/route.ts'
import type { Room } from '../room.ts'
import { oneChannel } from '../schema/channels.ts'
import { channelTrend, trendQuery } from '../schema/watch.ts'
import { partly } from '../stores/federation.ts'
import { iso } from '../views/times.ts'
import { pointView } from '../views/watch.ts'
import { sumOverTime, thinned } from '../watch/merge.ts'

const HOUR_MS = 3_600_000
/** More than a screen has room for. */
const MOST_POINTS = 240

export const trendRoutes = [
  route({
    method: 'GET',
    path: `${API}/channels/:channel/trend`,
    about: 'How much of a channel waited over the last hours, and for how long: its snapshots, for drawing.',
    params: oneChannel,
    query: trendQuery,
    answer: channelTrend,
    handle: ({ room, params, query }) => trendOfChannel(room, params.channel, query.hours),
  }),
]

async function trendOfChannel({ stores, watched, clock }: Room, channel: string, hours: number) {
  const to = clock.now()
  const from = Math.max(0, Math.floor(to - hours * HOUR_MS))
  const { found, faults } = await stores.each(named => watched.history(named, channel, from))
  const points = thinned(sumOverTime(found.map(({ value }) => value)), MOST_POINTS)
  return { channel, from: iso(from), to: iso(to), points: points.map(pointView), ...partly(faults) }
}
