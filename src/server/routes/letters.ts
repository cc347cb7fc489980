import * as z from 'zod'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { comparePlaces, placeOf, resolveLetterFilter, writeCursor } from '../../ports/letter-query.ts'
import { judge } from '../../replay/plan.ts'
import { resolvePlan } from '../../replay/plan-options.ts'
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
import { type NamedStore, partly } from '../stores/federation.ts'
import { addStats } from '../stores/figures.ts'
import { statsOf } from '../stores/search-stats.ts'
import { auditView } from '../views/audit.ts'
import { filterInside } from '../views/filter.ts'
import { hiddenInPayload, hideIn } from '../views/hidden.ts'
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
    async handle({ room, query }) {
      const { store, limit, cursor, ...asked } = query
      const filter = filterInside(asked)
      // Every store has the same order, so one place in it is where to go on in all of them.
      const gathered = await room.stores.each(
        named => named.store.deadLetters.list({ ...filter, limit, cursor }),
        store,
      )
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
    async handle({ room, query: { store, ...asked } }) {
      const filter = filterInside(asked)
      const { found, faults } = await room.stores.each(
        named => statsOf(named.store.deadLetters, filter),
        store,
      )
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
    async handle({ room, params, query }) {
      const found = await findLetter(room, params.id, query.store)
      const { name, store, value: letter } = found
      const audit = await store.audit.list({ target: letter.id, limit: AUDIT_SHOWN })
      return {
        ...letterStory(name, letter, room.masks),
        destination: await destinationOf(room, found, letter),
        audit: audit.entries.map(entry => auditView(name, entry)),
      }
    },
  }),
]

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
  const { why } = await judge(letter, asked, room.around, room.clock.now())
  const obstacle = why && hideIn(why, hiddenInPayload(letter.event.payload, room.masks), room.masks)
  const { broker, why: noWay } = wayBackOf(room, named, letter)
  return { channel: letter.channel, handler: letter.handler, broker, obstacle: noWay ?? obstacle }
}

/** Through its collector, where it has one; what was collected goes no other way. */
function wayBackOf(
  room: Room,
  named: NamedStore,
  { origin }: DeadLetter,
): { readonly broker?: string | undefined; readonly why?: string } {
  if (room.collects(origin.broker)) return { broker: origin.broker }
  if (origin['collectedFrom'] !== undefined)
    return { why: `no collector named '${origin.broker}' runs here, and only it could send this back` }
  if (room.targetOf(named) === undefined)
    return { why: `${named.store.url} is no broker, so nothing can be sent from here` }
  if (named.store.broker !== undefined && origin.broker === undefined && room.sendsUnbrokered)
    return { broker: 'this process' }
  return { broker: named.store.broker?.name ?? 'another broker' }
}
