import { withDisclosing } from '../../adapter-kit/query/letter-query.ts'
import { MASK } from '../../core/dead-letter/mask-text.ts'
import { isAgentOf } from '../../core/options/agents.ts'
import { maskReplay } from '../../operations/mask-replay.ts'
import type { Replay } from '../../ports/replays.ts'
import { REPLAY_STEPS } from '../../replay/control.ts'
import type { Caller } from '../auth/caller.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import {
  findings as findingsSchema,
  itemPage,
  itemQuery,
  type Permission,
  type ReplayDecision,
  type Replay as ReplayJson,
  type ReplayVerb,
  replayList,
  replayQuery,
  replay as replaySchema,
  replayVerb,
} from '../schema/replays.ts'
import { type NamedStore, withFaults } from '../stores/federation.ts'
import { planCommand } from '../views/command.ts'
import { fromLetterFilter } from '../views/filter.ts'
import { createReasonMasker, mostFrequentReasons } from '../views/item-reasons.ts'
import { checkView, itemView, patchView, problemView, replaySummary } from '../views/replay.ts'
import { oneId } from './letters.ts'

const REPLAYS = `${API}/replays`
const MAX_SKIPPED_ITEMS = 1_000
const NOT_RECOVERED = ['failed_same_cause', 'failed_new_cause', 'waiting'] as const
/** Each is read by itself. */
const MAX_LOOKED_AT = 100
const SAMPLES_SHOWN = 5

export type ReplayContext = Pick<
  ServerContext,
  'stores' | 'searches' | 'permissions' | 'masks' | 'runner' | 'readOnly' | 'needsApproval' | 'targetOf'
>

const route = routeFor<ReplayContext>()
export const replayRoutes = [
  route({
    method: 'GET',
    path: REPLAYS,
    about: 'Lists replays, newest first.',
    query: replayQuery,
    answer: replayList,
    async handle({ context, query: { state, limit, store } }) {
      const gathered = await context.stores.each(async named => {
        const replays = await named.store.replays.list({ state, limit })
        return Promise.all(
          replays.map(async replay => ({ replay, counts: await named.store.replays.counts(replay.id) })),
        )
      }, store)
      const replays = gathered.found
        .flatMap(({ name, value }) => value.map(({ replay, counts }) => replaySummary(name, replay, counts)))
        .sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
      return { replays: replays.slice(0, limit), ...withFaults(gathered.faults) }
    },
  }),
  route({
    method: 'GET',
    path: `${REPLAYS}/:id`,
    about: 'Returns a replay: plan, outcomes, and what the caller may do with it.',
    params: oneId,
    answer: replaySchema,
    async handle({ context, caller, params }) {
      const { value, ...named } = await findReplay(context, params.id)
      if (!context.readOnly) await context.runner.gatherLate(named, value)
      return replayView(context, caller, named, value)
    },
  }),
  route({
    method: 'GET',
    path: `${REPLAYS}/:id/items`,
    about: 'Lists the letters of a replay in sending order, with their status.',
    params: oneId,
    query: itemQuery,
    answer: itemPage,
    async handle({ context, params, query: { status, after, limit } }) {
      const { value, ...named } = await findReplay(context, params.id)
      const items = await named.store.replays.items(value.id, { status, after, limit: limit + 1 })
      const page = items.slice(0, limit)
      const maskReason = createReasonMasker(context.masks, named.store, value)
      return {
        items: await Promise.all(page.map(async item => itemView(item, await maskReason(item)))),
        after: items.length > limit ? page.at(-1)?.position : undefined,
      }
    },
  }),
  route({
    method: 'GET',
    path: `${REPLAYS}/:id/findings`,
    about: 'Returns the decisions of the gates, with the most frequent reasons.',
    params: oneId,
    answer: findingsSchema,
    async handle({ context, params }) {
      const { value: replay, ...named } = await findReplay(context, params.id)
      const { store } = named
      const maskReason = createReasonMasker(context.masks, store, replay)
      const skipped = await store.replays.items(replay.id, { status: 'skipped', limit: MAX_SKIPPED_ITEMS })
      const going = await store.replays.items(replay.id, { limit: MAX_SKIPPED_ITEMS })
      const findings = Object.entries(replay.findings).map(async ([name, count]) => {
        const decision = name as ReplayDecision
        const from = decision === 'replay' ? going : skipped
        const letters = from.filter(item => item.decision === decision)
        return {
          decision,
          count,
          reasons: await mostFrequentReasons(letters, maskReason),
          sampleLetterIds: letters.slice(0, SAMPLES_SHOWN).map(({ letterId }) => letterId),
        }
      })
      return { findings: await Promise.all(findings), sampled: skipped.length }
    },
  }),
]

export function findReplay({ stores }: Pick<ReplayContext, 'stores'>, id: string) {
  return stores.find('replay', id, ({ store }) => store.replays.get(id))
}

/** The full view of a replay for this caller. */
export async function replayView(
  context: ReplayContext,
  caller: Caller,
  named: NamedStore,
  replay: Replay,
): Promise<ReplayJson> {
  const { name, store } = named
  const counts = await store.replays.counts(replay.id)
  const selectedBy = context.searches.mayReveal(caller) ? replay.selectedBy : withoutSearch(replay.selectedBy)
  const { filter, ids } = selectedBy
  const shown = await maskReplay(store, replay, context.masks)
  const patch = patchView(shown)
  return {
    ...replaySummary(name, replay, counts),
    selectedBy: {
      filter: filter && fromLetterFilter(filter),
      ids: ids && [...ids],
    },
    perSecond: replay.perSecond,
    halt: { ...replay.halt },
    to: replay.to,
    patch,
    maxAgeMs: replay.maxAgeMs,
    allowQuarantined: replay.allowQuarantined,
    requireSchema: replay.requireSchema,
    checks: shown.checks?.map(checkView),
    overlaps: replay.overlaps?.map(overlap => ({ ...overlap })),
    problem: problemView(shown),
    recoveredSince: await recoveredSince(named, replay),
    rate: replay.state === 'running' ? context.runner.rateOf(replay.id) : undefined,
    arrivedSincePlan: await arrivedSincePlan(
      named,
      replay,
      counts.failed_same_cause + counts.failed_new_cause,
    ),
    command: planCommand({ ...replay, selectedBy }, store.url, patch),
    can: Object.fromEntries(
      replayVerb.options.map(verb => [verb, replayPermission(context, caller, named, replay, verb)]),
    ) as Record<ReplayVerb, Permission>,
  }
}

/** The search text may be a masked value, and the count would disclose that it occurs. */
function withoutSearch(selectedBy: Replay['selectedBy']): Replay['selectedBy'] {
  const { filter } = selectedBy
  return filter === undefined ? selectedBy : { ...selectedBy, filter: withDisclosing(filter, () => MASK) }
}

/** Whether the caller may run the action now, and if not, why. */
export function replayPermission(
  context: ReplayContext,
  caller: Caller,
  named: NamedStore,
  replay: Replay,
  verb: ReplayVerb,
): Permission {
  const permission = context.permissions.of(caller, `replay.${verb}`)
  if (!permission.allowed) return permission
  const { from: possible } = REPLAY_STEPS[verb]
  if (!possible.includes(replay.state))
    return {
      allowed: false,
      reason: `The replay is ${replay.state}. It must be ${possible.join(' or ')} for this.`,
    }
  if (verb === 'approve' && replay.createdBy === caller.name)
    return { allowed: false, reason: 'You planned this replay. Another person must approve it.' }
  // An agent that can read its own token could approve its plan with it. Without tokens everyone has one name.
  const isOwnAgent =
    isAgentOf(replay.createdBy, caller.name) && (caller.kind === 'token' || context.needsApproval)
  if (verb === 'approve' && isOwnAgent)
    return {
      allowed: false,
      reason: 'An agent with your token planned this replay. Approve it with another token.',
    }
  if (verb !== 'start' && verb !== 'resume') return permission
  if (context.needsApproval && replay.approvedBy === undefined)
    return {
      allowed: false,
      reason:
        'This server requires approval. The replay was planned without approval and can no longer be approved; plan it again.',
    }
  if (context.targetOf(named) === undefined)
    return {
      allowed: false,
      reason: `${named.store.url} cannot deliver events, so this server cannot send its letters.`,
    }
  return permission
}

/** Looks at letters that a stopped replay has not recovered: another replay may have recovered them since. */
async function recoveredSince(
  { store }: NamedStore,
  { id, state }: Replay,
): Promise<ReplayJson['recoveredSince']> {
  if (state !== 'halted' && state !== 'paused') return undefined
  const found = await Promise.all(
    NOT_RECOVERED.map(status => store.replays.items(id, { status, limit: MAX_LOOKED_AT })),
  )
  const items = found.flat().slice(0, MAX_LOOKED_AT)
  const letters = await Promise.all(items.map(({ letterId }) => store.deadLetters.get(letterId)))
  const resolved = letters.filter(letter => letter?.state === 'resolved').length
  return resolved === 0 ? undefined : { letters: resolved, of: items.length }
}

/** Counts letters that match the filter and failed after the plan, without those that the replay itself sent. */
async function arrivedSincePlan(
  { store }: NamedStore,
  { selectedBy: { filter }, createdAt }: Replay,
  failedAgain: number,
): Promise<number | undefined> {
  if (filter === undefined) return undefined
  const justAfter = createdAt + 1
  const after = Math.max(justAfter, filter.after ?? justAfter)
  const { count } = await store.deadLetters.stats({ ...filter, after })
  return Math.max(0, count - failedAgain)
}
