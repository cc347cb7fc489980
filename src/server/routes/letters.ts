import * as z from 'zod'
import {
  comparePlaces,
  placeOf,
  resolveLetterFilter,
  writeCursor,
} from '../../adapter-kit/query/letter-query.ts'
import { masksOfEvent } from '../../core/dead-letter/event-masks.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { LetterFilter } from '../../ports/dead-letters.ts'
import { judge } from '../../replay/plan.ts'
import { resolvePlan } from '../../replay/plan-options.ts'
import type { Caller } from '../auth/callers.ts'
import { API, route } from '../http/route.ts'
import type { Room } from '../room.ts'
import { id, storeName } from '../schema/common.ts'
import {
  type Destination,
  letterDetail,
  letterPage,
  letterQuery,
  letterStats,
  letterStatsQuery,
} from '../schema/letters.ts'
import { listMasked, statsMasked } from '../search/masked-letters.ts'
import { type NamedStore, partly } from '../stores/federation.ts'
import { addStats } from '../stores/figures.ts'
import { statsOf } from '../stores/search-stats.ts'
import { auditView } from '../views/audit.ts'
import { filterInside } from '../views/filter.ts'
import { letterStory, letterSummary } from '../views/letter.ts'

const LETTERS = `${API}/dead-letters`
const AUDIT_SHOWN = 50
export const oneId = z.strictObject({ id })
/** With several stores: where to look, for an id that more than one has. */
export const whichStore = z.strictObject({ store: storeName.optional() })

export const letterRoutes = [
  route({
    method: 'GET',
    path: LETTERS,
    about: 'The dead letters, newest failure first.',
    query: letterQuery,
    answer: letterPage,
    async handle({ room, caller, query }) {
      const { store, limit, cursor, ...asked } = query
      const filter = filterInside(asked)
      if (filter.search !== undefined && !room.searches.mayReveal(caller))
        return pageOfMasked(room, filter, { store, limit, cursor })
      // Every store has the same order, so one place in it is where to go on in all of them.
      const gathered = await room.stores.each(async named => {
        await auditSearch(room, caller, named, filter)
        return named.store.deadLetters.list({ ...filter, limit, cursor })
      }, store)
      const merged = gathered.found
        .flatMap(({ name, value }) => value.letters.map(letter => ({ name, letter })))
        .sort((a, b) => comparePlaces(placeOf(a.letter), placeOf(b.letter)))
      const page = merged.slice(0, limit)
      const last = page.at(-1)
      const hasMore = merged.length > page.length || gathered.found.some(({ value }) => value.cursor)
      return {
        letters: page.map(({ name, letter }) => letterSummary(name, letter, room.masks)),
        cursor: hasMore && last ? writeCursor(placeOf(last.letter), resolveLetterFilter(filter)) : undefined,
        ...partly(gathered.faults),
      }
    },
  }),
  route({
    method: 'GET',
    path: `${LETTERS}/stats`,
    about: 'How many there are, by state, reason and channel.',
    query: letterStatsQuery,
    answer: letterStats,
    async handle({ room, caller, query: { store, ...asked } }) {
      const filter = filterInside(asked)
      const isMasked = filter.search !== undefined && !room.searches.mayReveal(caller)
      const { found, faults } = await room.stores.each(async named => {
        const { deadLetters } = named.store
        if (isMasked) return statsMasked(deadLetters, { filter, masks: room.masks })
        await auditSearch(room, caller, named, filter)
        return statsOf(deadLetters, filter)
      }, store)
      return { ...addStats(found.map(({ value }) => value)), ...partly(faults) }
    },
  }),
  route({
    method: 'GET',
    path: `${LETTERS}/:id`,
    about: 'One letter whole, masked: its event, attempts, cycles, where a replay would send it, its audit.',
    params: oneId,
    query: whichStore,
    answer: letterDetail,
    async handle({ room, caller, params, query }) {
      const found = await findLetter(room, params.id, query.store)
      const { name, store, value: letter } = found
      const audit = await store.audit.list({ target: letter.id, limit: AUDIT_SHOWN })
      return {
        ...letterStory(name, letter, room.masks),
        destination: await destinationOf(room, found, letter),
        audit: audit.entries.map(entry => auditView(name, entry, room.searches.mayReveal(caller))),
      }
    },
  }),
]

/** A search that looks at what is masked leaves a trace. */
export async function auditSearch(
  { searches }: Room,
  caller: Caller,
  named: NamedStore,
  { search }: LetterFilter,
): Promise<void> {
  if (search !== undefined) await searches.audit(named, caller, 'letters.search', search)
}

/** A page of those whose masked text has what is searched. It may be empty and lead on all the same. */
async function pageOfMasked(
  room: Room,
  filter: LetterFilter,
  {
    store,
    limit,
    cursor,
  }: { readonly store: string | undefined; readonly limit: number; readonly cursor: string | undefined },
) {
  const { masks } = room
  const gathered = await room.stores.each(
    named => listMasked(named.store.deadLetters, { filter, masks }, { limit, cursor }),
    store,
  )
  // What lies behind the place that every store was looked at until may still have others before it.
  const [until] = gathered.found.flatMap(({ value }) => value.lookedUntil ?? []).sort(comparePlaces)
  const merged = gathered.found
    .flatMap(({ name, value }) => value.letters.map(letter => ({ name, letter })))
    .filter(({ letter }) => until === undefined || comparePlaces(placeOf(letter), until) <= 0)
    .sort((a, b) => comparePlaces(placeOf(a.letter), placeOf(b.letter)))
  const page = merged.slice(0, limit)
  const next = merged.length > page.length ? placeOf(page.at(-1)!.letter) : until
  return {
    letters: page.map(({ name, letter }) => letterSummary(name, letter, masks)),
    cursor: next && writeCursor(next, resolveLetterFilter(filter)),
    ...partly(gathered.faults),
  }
}

export function findLetter(room: Room, letterId: string, store?: string) {
  return room.stores.find('dead letter', letterId, named => named.store.deadLetters.get(letterId), store)
}

async function destinationOf(room: Room, named: NamedStore, letter: DeadLetter): Promise<Destination> {
  const asked = resolvePlan({
    ...room.settings.replayDefaults,
    reason: 'a look',
    by: 'nobody',
    ids: [letter.id],
  })
  const around = room.aroundOf(named)
  const { why } = await judge(letter, asked, around, room.clock.now())
  const obstacle = why && masksOfEvent(letter.event, room.masks).maskText(why)
  const wayBack = around.wayBack?.(letter, undefined)
  const isReachable = wayBack !== undefined && wayBack.kind !== 'none'
  return {
    channel: letter.channel,
    handler: letter.handler,
    broker: isReachable ? wayBack.via : undefined,
    obstacle: wayBack?.kind === 'none' ? wayBack.why : obstacle,
  }
}
