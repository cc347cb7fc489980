import { API, route } from '../http/route.ts'
import type { Room } from '../room.ts'
import { me } from '../schema/me.ts'
import { overview, type StoreHealth } from '../schema/overview.ts'
import type { ReplaySummary } from '../schema/replays.ts'
import type { ChannelAlert } from '../schema/watch.ts'
import { type NamedStore, partly } from '../stores/federation.ts'
import { addNumbers, gatherNumbers } from '../stores/numbers.ts'
import { replaySummary } from '../views/replay.ts'
import { alertViews } from '../views/watch.ts'
import { pageOfGroups } from './group-order.ts'

const TOP_GROUPS = 8
const MOST_RUNNING = 20
const MOST_ALERTS = 100

export const overviewRoutes = [
  route({
    method: 'GET',
    path: `${API}/me`,
    about: 'Who is asking, and what they may do.',
    answer: me,
    handle({ room, caller }) {
      const { readOnly, needsApproval } = room.settings
      return {
        name: caller.name,
        role: caller.role,
        can: room.permissions.all(caller),
        readOnly,
        needsApproval,
        version: room.version,
        stores: room.stores.all.map(({ name, store }) => ({ name, url: store.url })),
        demo: room.demo !== undefined,
      }
    },
  }),
  route({
    method: 'GET',
    path: `${API}/overview`,
    about: 'What a person on call looks at first.',
    answer: overview,
    async handle({ room }) {
      const gathered = await gatherNumbers(room)
      const open = gathered.found.map(({ value, ...named }) => ({
        ...named,
        value: value.groups.filter(({ state }) => state === 'open'),
      }))
      const running = await Promise.all(gathered.found.map(named => runningReplays(named)))
      const top = await pageOfGroups(room, open, { sort: 'regressed', limit: TOP_GROUPS, cursor: undefined })
      const counts = new Map(gathered.found.map(({ name, value }) => [name, value.stats.count]))
      return {
        ...addNumbers(room, gathered),
        stores: room.stores.all.map(named =>
          storeHealth(
            room,
            named,
            counts.get(named.name),
            gathered.faults.find(({ store }) => store === named.name),
          ),
        ),
        topGroups: top.groups,
        runningReplays: running.flat(),
        alerts: await standingAlerts(room),
        ...partly(gathered.faults),
      }
    },
  }),
]

async function standingAlerts({ watched, masks }: Room): Promise<ChannelAlert[]> {
  const alerts = (await watched.all()).flatMap(watch => alertViews(watch, masks))
  return alerts
    .sort((a, b) => (a.since < b.since ? 1 : a.since > b.since ? -1 : a.channel < b.channel ? -1 : 1))
    .slice(0, MOST_ALERTS)
}

async function runningReplays({ name, store }: NamedStore): Promise<ReplaySummary[]> {
  const replays = await store.replays.list({ state: 'running', limit: MOST_RUNNING })
  return Promise.all(
    replays.map(async replay => replaySummary(name, replay, await store.replays.counts(replay.id))),
  )
}

function storeHealth(
  room: Room,
  named: NamedStore,
  letters: number | undefined,
  fault: { readonly problem: string } | undefined,
): StoreHealth {
  const { name, store } = named
  return {
    name,
    url: store.url,
    up: fault === undefined,
    problem: fault?.problem,
    letters,
    sends: room.targetOf(named) !== undefined,
  }
}
