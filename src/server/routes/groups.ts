import type { Listing } from '../../adapter-kit/query/cursor.ts'
import { masksOfLetter } from '../../core/dead-letter/event-masks.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { triageGroup } from '../../operations/triage.ts'
import type { Group } from '../../ports/groups.ts'
import type { Replay } from '../../ports/replays.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { notFound } from '../problem.ts'
import {
  type CommonValue,
  commonValue,
  type GroupPage,
  type GroupSort,
  groupDetail,
  groupPage,
  groupPatch,
  groupQuery,
  group as groupSchema,
} from '../schema/groups.ts'
import { type NamedStore, withFaults } from '../stores/federation.ts'
import { auditView } from '../views/audit.ts'
import { groupView } from '../views/group.ts'
import { replaySummary } from '../views/replay.ts'
import { readJsonCursor, writeJsonCursor } from './json-cursor.ts'
import { oneId, whichStore } from './letters.ts'

const GROUPS = `${API}/groups`
const SAMPLE_SIZE = 50
const VALUES_SHOWN = 5
const MAX_REPLAYS_READ = 100
const REPLAYS_SHOWN = 20
const AUDIT_SHOWN = 50
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Only this many groups get a rate. Groups that were last seen more than an hour ago have the rate 0. */
const MAX_RATED = 300

type Context = Pick<
  ServerContext,
  'stores' | 'statsCache' | 'groupTexts' | 'searches' | 'masks' | 'clock' | 'announce'
>

const route = routeFor<Context>()
export const groupRoutes = [
  route({
    method: 'GET',
    path: GROUPS,
    about: 'Lists groups: dead letters with one cause.',
    query: groupQuery,
    answer: groupPage,
    async handle({ context, caller, query }) {
      const { state, channel, search, store, sort, limit, cursor } = query
      const isMasked = search !== undefined && !context.searches.mayReveal(caller)
      const gathered = await context.stores.each(async named => {
        if (isMasked)
          return context.groupTexts.search(
            named,
            await context.statsCache.groups(named, { state, channel }),
            search,
          )
        if (search !== undefined) await context.searches.audit(named, caller, 'groups.search', { search })
        return context.statsCache.groups(named, { state, channel, search })
      }, store)
      const page = await pageOfGroups(context, gathered.found, { sort, limit, cursor, isPaged: true })
      return { ...page, ...withFaults(gathered.faults) }
    },
  }),
  route({
    method: 'GET',
    path: `${GROUPS}/:id`,
    about:
      'Returns one group: counts, channels, times, common values of its letters, triage, replays and audit entries.',
    params: oneId,
    query: whichStore,
    answer: groupDetail,
    async handle({ context, caller, params, query }) {
      const { value: group, ...named } = await findGroup(context, params.id, query.store)
      const { name, store } = named
      const [sparkline, texts, sample, audit, replays] = await Promise.all([
        context.statsCache.sparkline(named, group.id),
        context.groupTexts.textsOf(named, group),
        store.deadLetters.list({ group: group.id, limit: SAMPLE_SIZE }),
        store.audit.list({ target: group.id, limit: AUDIT_SHOWN }),
        store.replays.list({ limit: MAX_REPLAYS_READ }),
      ])
      const touching = replays
        .filter(replay => touches(replay, group.id, sample.letters))
        .slice(0, REPLAYS_SHOWN)
      const counts = await Promise.all(touching.map(({ id }) => store.replays.counts(id)))
      return {
        ...groupView(name, group, sparkline, texts),
        commonValues: commonValues(sample.letters, context.masks),
        sampled: sample.letters.length,
        sampleLetterId: sample.letters[0]?.id,
        replays: touching.map((replay, index) => replaySummary(name, replay, counts[index]!)),
        audit: audit.entries.map(entry => auditView(name, entry, context.searches.mayReveal(caller))),
      }
    },
  }),
  route({
    method: 'PATCH',
    path: `${GROUPS}/:id`,
    about: 'Changes the triage of a group: state, owner, link, note.',
    action: 'group.triage',
    params: oneId,
    query: whichStore,
    body: groupPatch,
    answer: groupSchema,
    async handle({ context, caller, params, query, body }) {
      const { value: before, ...named } = await findGroup(context, params.id, query.store)
      const { mutedUntil, ...said } = body
      const until = mutedUntil === undefined ? {} : { mutedUntil: Date.parse(mutedUntil) }
      const change = { ...said, ...until, at: context.clock.now(), by: caller.name }
      const group = await triageGroup(named.store, before.id, change)
      if (group === undefined) throw notFound('group', params.id)
      context.announce('groups')
      const texts = await context.groupTexts.textsOf(named, group)
      return groupView(named.name, group, await context.statsCache.sparkline(named, group.id), texts)
    },
  }),
]

export function findGroup({ stores }: Pick<Context, 'stores'>, id: string, store?: string) {
  return stores.find('group', id, ({ store: each }: NamedStore) => each.groups.get(id), store)
}

function touches({ id, selectedBy }: Replay, group: string, sample: readonly DeadLetter[]): boolean {
  if (selectedBy.filter?.group === group) return true
  return sample.some(
    letter =>
      letter.replayId === id || [letter.cycle, ...letter.endedCycles].some(cycle => cycle.replayId === id),
  )
}

function commonValues(letters: readonly DeadLetter[], masks: Masks): CommonValue[] {
  return commonValue.shape.field.options.flatMap(field => {
    // Counts masked values, so that frequencies disclose nothing about them.
    const values = letters.flatMap(letter => {
      const value = fieldOf(letter, field)
      return value === undefined ? [] : [masksOfLetter(letter, masks).maskText(value)]
    })
    if (values.length === 0) return []
    const counts = new Map<string, number>()
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
    const ranked = [...counts].sort(([, a], [, b]) => b - a).slice(0, VALUES_SHOWN)
    const shown = ranked.map(([value, count]) => ({ value, share: count / letters.length }))
    return [{ field, values: shown }]
  })
}

function fieldOf(letter: DeadLetter, field: CommonValue['field']): string | undefined {
  if (field === 'type' || field === 'key') return letter.event[field]
  return field === 'reason' ? letter.cycle.reason : letter[field]
}

/**
 * The sort key of a group: higher ranks first, compared number by number; then the smaller tie text. A list whose ranks change
 * while a person reads it also has the name of its ranking.
 */
type SortPosition = readonly [rank: readonly number[], tie: string, ranking?: string]

interface GroupOrder {
  readonly sort: GroupSort
  readonly limit: number
  readonly cursor: string | undefined
  /** Whether somebody may ask for the next page. */
  readonly isPaged: boolean
}

/** One page of the groups of all stores. The cursor is a sort key, so it stays valid while groups come and go. */
export async function pageOfGroups(
  context: Pick<Context, 'statsCache' | 'groupTexts' | 'clock'>,
  found: readonly (NamedStore & { readonly value: readonly Group[] })[],
  { sort, limit, cursor, isPaged }: GroupOrder,
): Promise<GroupPage> {
  const all = found.flatMap(({ value, ...named }) => value.map(group => ({ ...named, group })))
  const rates = sort === 'regressed' || sort === 'rate' ? await ratesOf(context, all) : undefined
  const now = context.clock.now()
  const after = cursor === undefined ? undefined : readJsonCursor(listingBy(sort), cursor, isSortPosition)
  const placed = all.map(each => {
    const tie = `${each.group.id} ${each.name}`
    const position: SortPosition = [rankOf(each.group, sort, rates?.get(tie) ?? 0, now), tie]
    return { ...each, position }
  })
  // A rate changes between two pages. By position a group whose rate fell would come twice, and one whose rate rose not at all.
  const kept = after?.[2] === undefined ? undefined : context.statsCache.ranking(after[2])
  const ranked =
    after === undefined || kept === undefined
      ? placed
          .filter(({ position }) => after === undefined || compare(position, after) > 0)
          .sort((a, b) => compare(a.position, b.position))
      : inRanking(placed, kept, after[1])
  const page = ranked.slice(0, limit)
  const last = ranked.length > page.length ? page.at(-1) : undefined
  const ranking =
    rates === undefined || last === undefined || !isPaged
      ? []
      : [
          kept === undefined
            ? context.statsCache.keepRanking(ranked.map(each => each.position[1]))
            : after![2]!,
        ]
  const sparklines = await Promise.all(page.map(each => context.statsCache.sparkline(each, each.group.id)))
  const texts = await Promise.all(page.map(each => context.groupTexts.textsOf(each, each.group)))
  return {
    groups: page.map(({ name, group }, index) => groupView(name, group, sparklines[index]!, texts[index]!)),
    cursor: last && writeJsonCursor(listingBy(sort), [...last.position, ...ranking]),
  }
}

/** The groups behind one of them, in the order of an earlier page. Groups that were not there then are not shown. */
function inRanking<G extends { readonly position: SortPosition }>(
  groups: readonly G[],
  ranking: readonly string[],
  behind: string,
): readonly G[] {
  const byTie = new Map(groups.map(each => [each.position[1], each]))
  return ranking.slice(ranking.indexOf(behind) + 1).flatMap(tie => byTie.get(tie) ?? [])
}

function rankOf(group: Group, sort: GroupSort, rate: number, now: number): readonly number[] {
  const { regressed, firstSeenAt, lastSeenAt } = group
  const isNew = firstSeenAt > now - DAY_MS ? 1 : 0
  switch (sort) {
    case 'regressed':
      return [regressed ? 1 : 0, isNew, rate, lastSeenAt]
    case 'new':
      return [firstSeenAt]
    case 'rate':
      return [rate, lastSeenAt]
    case 'recent':
      return [lastSeenAt]
  }
}

async function ratesOf(
  { statsCache, clock }: Pick<Context, 'statsCache' | 'clock'>,
  all: readonly (NamedStore & { readonly group: Group })[],
): Promise<ReadonlyMap<string, number>> {
  const anHourAgo = clock.now() - HOUR_MS
  const lately = all
    .filter(({ group }) => group.lastSeenAt > anHourAgo)
    .sort((a, b) => b.group.lastSeenAt - a.group.lastSeenAt)
    .slice(0, MAX_RATED)
  const rates = await Promise.all(
    lately.map(async each => {
      const sparkline = await statsCache.sparkline(each, each.group.id)
      return [`${each.group.id} ${each.name}`, sparkline.at(-1) ?? 0] as const
    }),
  )
  return new Map(rates)
}

function compare([rankA, tieA]: SortPosition, [rankB, tieB]: SortPosition): number {
  for (const [index, own] of rankA.entries()) {
    const other = rankB[index] ?? 0
    if (own !== other) return other - own
  }
  return tieA === tieB ? 0 : tieA < tieB ? -1 : 1
}

function listingBy(sort: GroupSort): Listing {
  return { name: 'groups of all stores', filter: sort }
}

function isSortPosition(value: unknown): value is SortPosition {
  if (!Array.isArray(value)) return false
  const [rank, tie, ranking] = value
  const isNamed = ranking === undefined || typeof ranking === 'string'
  return Array.isArray(rank) && rank.every(Number.isFinite) && typeof tie === 'string' && isNamed
}
