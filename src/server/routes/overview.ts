import { SIGN_IN_PATH } from '../auth/sign-in-pages.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { me, signIn } from '../schema/me.ts'
import { overview } from '../schema/overview.ts'
import type { ReplaySummary } from '../schema/replays.ts'
import { changeEvent } from '../schema/stream.ts'
import type { ChannelAlert } from '../schema/watch.ts'
import { type NamedStore, withFaults } from '../stores/federation.ts'
import { addNumbers, gatherNumbers } from '../stores/numbers.ts'
import { replaySummary } from '../views/replay.ts'
import { alertViews } from '../views/watch.ts'
import { pageOfGroups } from './groups.ts'

const TOP_GROUPS = 8
const MAX_RUNNING = 20
const MAX_ALERTS = 100

type Context = Pick<
  ServerContext,
  | 'authenticator'
  | 'signIn'
  | 'basePath'
  | 'readOnly'
  | 'needsApproval'
  | 'permissions'
  | 'version'
  | 'demo'
  | 'stores'
  | 'statsCache'
  | 'consumers'
  | 'fleet'
  | 'retention'
  | 'groupTexts'
  | 'targetOf'
  | 'snapshotReader'
  | 'masks'
  | 'clock'
  | 'changeStream'
>

const route = routeFor<Context>()
export const overviewRoutes = [
  route({
    method: 'GET',
    path: `${API}/sign-in`,
    about: 'Returns how people can sign in.',
    access: 'public',
    answer: signIn,
    handle({ context }) {
      const { label, proxy } = context.signIn ?? {}
      return {
        token: context.authenticator.hasTokens,
        oidc: label === undefined ? undefined : { label, path: context.basePath + SIGN_IN_PATH },
        proxy: proxy !== undefined,
      }
    },
  }),
  route({
    method: 'GET',
    path: `${API}/me`,
    about: 'Returns the caller and the permissions of the caller.',
    answer: me,
    handle({ context, caller }) {
      const { readOnly, needsApproval, version } = context
      return {
        name: caller.name,
        role: caller.role,
        signIn: caller.kind,
        can: context.permissions.all(caller),
        readOnly,
        needsApproval,
        version,
        stores: context.stores.all.map(({ name, store }) => ({ name, url: store.url })),
        demo: context.demo !== undefined,
      }
    },
  }),
  route({
    method: 'GET',
    path: `${API}/overview`,
    about:
      'Returns the summary for a person on call: groups, letters, inflow, breakers, replays, stores and alerts.',
    answer: overview,
    async handle({ context }) {
      const gathered = await gatherNumbers(context)
      const open = gathered.found.map(({ value, ...named }) => ({
        ...named,
        value: value.groups.filter(({ state }) => state === 'open'),
      }))
      const running = await Promise.all(gathered.found.map(named => runningReplays(named)))
      const top = await pageOfGroups(context, open, {
        sort: 'regressed',
        limit: TOP_GROUPS,
        cursor: undefined,
        isPaged: false,
      })
      const counts = new Map(gathered.found.map(({ name, value }) => [name, value.stats.count]))
      return {
        ...(await addNumbers(context, gathered)),
        stores: context.stores.all.map(named => {
          const fault = gathered.faults.find(({ store }) => store === named.name)
          return {
            name: named.name,
            url: named.store.url,
            up: fault === undefined,
            problem: fault?.problem,
            letters: counts.get(named.name),
            sends: context.targetOf(named) !== undefined,
          }
        }),
        topGroups: top.groups,
        runningReplays: running.flat(),
        alerts: await standingAlerts(context),
        ...withFaults(gathered.faults),
      }
    },
  }),
  route({
    method: 'GET',
    path: `${API}/stream`,
    about:
      'Streams server-sent events: `change` names what has changed, `overview` has the numbers of the overview.',
    answer: changeEvent,
    media: 'text/event-stream',
    handle: ({ context, caller, request }) =>
      // Hono calls the handler for HEAD too and drops the body. A HEAD must not open a stream.
      request.method === 'HEAD'
        ? new Response(null, { headers: { 'content-type': 'text/event-stream' } })
        : context.changeStream.open(caller, request.headers.has('last-event-id')),
  }),
]

async function standingAlerts({ snapshotReader, masks }: Context): Promise<ChannelAlert[]> {
  const alerts = (await snapshotReader.all()).flatMap(watch => alertViews(watch, masks))
  return alerts
    .sort((a, b) => (a.since < b.since ? 1 : a.since > b.since ? -1 : a.channel < b.channel ? -1 : 1))
    .slice(0, MAX_ALERTS)
}

async function runningReplays({ name, store }: NamedStore): Promise<ReplaySummary[]> {
  const replays = await store.replays.list({ state: 'running', limit: MAX_RUNNING })
  return Promise.all(
    replays.map(async replay => replaySummary(name, replay, await store.replays.counts(replay.id))),
  )
}
