import { decodeCursor, encodeCursor, type Listing } from '../../adapter-kit/query/cursor.ts'
import { tellsSearch } from '../../operations/filter-words.ts'
import { ProblemError } from '../http/problem.ts'
import { API, route } from '../http/route.ts'
import { auditPage, auditQuery } from '../schema/audit.ts'
import { partly } from '../stores/federation.ts'
import { auditView } from '../views/audit.ts'
import { mergeNewest, placeAfter, readStretch } from './audit-stretch.ts'

/** Where each store is to be read on: its own cursor, or null from the newest on. One that has no more is left out. */
type Places = Readonly<Record<string, string | null>>

export const auditRoutes = [
  route({
    method: 'GET',
    path: `${API}/audit`,
    about: 'Who did what to what, newest first.',
    query: auditQuery,
    answer: auditPage,
    async handle({ room, caller, query: { store, limit, cursor, target, action } }) {
      const mayReveal = room.searches.mayReveal(caller)
      // Who could look for a target with a guess in it would learn whether somebody had searched for that.
      if (target !== undefined && tellsSearch(target) && !mayReveal) return { entries: [] }
      const listing: Listing = { name: 'audit of all stores', filter: [target, action] }
      const isKnown = (name: string) => room.stores.all.some(each => each.name === name)
      const places =
        cursor === undefined ? undefined : decodeCursor(listing, cursor, text => readPlaces(text, isKnown))
      const asked = room.stores
        .chosen(store)
        .filter(({ name }) => places === undefined || Object.hasOwn(places, name))
      const wanted = { target, action, limit }
      const gathered = await room.stores.each(async named => {
        if (!asked.includes(named)) return undefined
        return readStretch(named.store.audit, wanted, places?.[named.name] ?? null, asked.length > 1)
      }, store)
      const stretches = gathered.found.flatMap(({ value, name }) =>
        value === undefined ? [] : [{ ...value, name }],
      )
      const merged = mergeNewest(stretches, limit)
      const next = await room.stores.each(async ({ name }) => {
        const stretch = stretches.find(each => each.name === name)
        return stretch && placeAfter(stretch, merged.filter(({ from }) => from === stretch).length)
      }, store)
      const [lost] = next.faults
      if (lost !== undefined)
        throw new ProblemError(
          'unavailable',
          `${lost.store} does not answer any more (${lost.problem}); ask again.`,
        )
      const more = next.found.flatMap(({ name, value }) =>
        value === undefined ? [] : [[name, value] as const],
      )
      // One that is down is asked again while that leads anywhere, and may be up by then.
      const down = gathered.faults.map(fault => [fault.store, places?.[fault.store] ?? null] as const)
      const left = more.length === 0 && merged.length === 0 ? [] : [...more, ...down]
      return {
        entries: merged.map(({ from, entry }) => auditView(from.name, entry, mayReveal)),
        cursor: left.length === 0 ? undefined : encodeCursor(listing, writePlaces(Object.fromEntries(left))),
        ...partly(gathered.faults),
      }
    },
  }),
]

function writePlaces(places: Places): string {
  return Buffer.from(JSON.stringify(places)).toString('base64url')
}

function readPlaces(text: string, isKnown: (store: string) => boolean): Places | undefined {
  try {
    const places = JSON.parse(Buffer.from(text, 'base64url').toString()) as Places
    const isPlace = (place: unknown) => place === null || typeof place === 'string'
    if (typeof places !== 'object' || places === null) return undefined
    const isRight = Object.keys(places).every(isKnown) && Object.values(places).every(isPlace)
    return isRight ? places : undefined
  } catch {
    return undefined
  }
}
