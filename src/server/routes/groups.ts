import { masksOfEvent } from '../../core/dead-letter/event-masks.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { triageGroup } from '../../operations/triage.ts'
import type { Replay } from '../../ports/replays.ts'
import { notFound } from '../http/problem.ts'
import { API, route } from '../http/route.ts'
import type { Room } from '../room.ts'
import {
  type CommonValue,
  commonValue,
  groupDetail,
  groupPage,
  groupPatch,
  groupQuery,
  group as groupSchema,
} from '../schema/groups.ts'
import { type NamedStore, partly } from '../stores/federation.ts'
import { auditView } from '../views/audit.ts'
import { groupView } from '../views/group.ts'
import { replaySummary } from '../views/replay.ts'
import { announce } from './announce.ts'
import { pageOfGroups } from './group-order.ts'
import { oneId, whichStore } from './letters.ts'

const GROUPS = `${API}/groups`
const SAMPLED = 50
const VALUES_SHOWN = 5
const REPLAYS_LOOKED_AT = 100
const REPLAYS_SHOWN = 20
const AUDIT_SHOWN = 50

export const groupRoutes = [
  route({
    method: 'GET',
    path: GROUPS,
    about: 'Dead letters by cause.',
    query: groupQuery,
    answer: groupPage,
    async handle({ room, caller, query }) {
      const { state, channel, search, store, sort, limit, cursor } = query
      const isMasked = search !== undefined && !room.searches.mayReveal(caller)
      const gathered = await room.stores.each(async named => {
        if (isMasked)
          return room.shownGroups.search(named, await room.figures.groups(named, { state, channel }), search)
        if (search !== undefined) await room.searches.audit(named, caller, 'groups.search', search)
        return room.figures.groups(named, { state, channel, search })
      }, store)
      const page = await pageOfGroups(room, gathered.found, { sort, limit, cursor })
      return { ...page, ...partly(gathered.faults) }
    },
  }),
  route({
    method: 'GET',
    path: `${GROUPS}/:id`,
    about: 'One cause: how often, where, since when, what its letters have in common, what people say of it.',
    params: oneId,
    query: whichStore,
    answer: groupDetail,
    async handle({ room, caller, params, query }) {
      const { value: group, ...named } = await findGroup(room, params.id, query.store)
      const { name, store } = named
      const [sparkline, texts, sample, audit, replays] = await Promise.all([
        room.figures.sparkline(named, group.id),
        room.shownGroups.textsOf(named, group),
        store.deadLetters.list({ group: group.id, limit: SAMPLED }),
        store.audit.list({ target: group.id, limit: AUDIT_SHOWN }),
        store.replays.list({ limit: REPLAYS_LOOKED_AT }),
      ])
      const touching = replays
        .filter(replay => touches(replay, group.id, sample.letters))
        .slice(0, REPLAYS_SHOWN)
      const counts = await Promise.all(touching.map(({ id }) => store.replays.counts(id)))
      return {
        ...groupView(name, group, sparkline, texts),
        commonValues: commonValues(sample.letters, room.masks),
        sampled: sample.letters.length,
        sampleLetterId: sample.letters[0]?.id,
        replays: touching.map((replay, index) => replaySummary(name, replay, counts[index]!)),
        audit: audit.entries.map(entry => auditView(name, entry, room.searches.mayReveal(caller))),
      }
    },
  }),
  route({
    method: 'PATCH',
    path: `${GROUPS}/:id`,
    about: 'Says what a person makes of it: state, owner, link, a note.',
    action: 'group.triage',
    params: oneId,
    query: whichStore,
    body: groupPatch,
    answer: groupSchema,
    async handle({ room, caller, params, query, body }) {
      const { value: before, ...named } = await findGroup(room, params.id, query.store)
      const { mutedUntil, ...said } = body
      const until = mutedUntil === undefined ? {} : { mutedUntil: Date.parse(mutedUntil) }
      const change = { ...said, ...until, at: room.clock.now(), by: caller.name }
      const group = await triageGroup(named.store, before.id, change)
      if (group === undefined) throw notFound('group', params.id)
      announce(room, 'groups')
      const texts = await room.shownGroups.textsOf(named, group)
      return groupView(named.name, group, await room.figures.sparkline(named, group.id), texts)
    },
  }),
]

function findGroup(room: Room, id: string, store?: string) {
  return room.stores.find('group', id, ({ store: each }: NamedStore) => each.groups.get(id), store)
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
    // Counted as they are shown: how often each value occurs tells nothing about what is masked then.
    const values = letters.flatMap(letter => {
      const value = fieldOf(letter, field)
      return value === undefined ? [] : [masksOfEvent(letter.event, masks).maskText(value)]
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
