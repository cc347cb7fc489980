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
    async handle({ room, query: { store, limit, cursor, target, action } }) {
      const places = cursor === undefined ? undefined : readCursor(cursor)
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
        entries: merged.map(({ from, entry }) => auditView(from.name, entry)),
        cursor: left.length === 0 ? undefined : writeCursor(Object.fromEntries(left)),
        ...partly(gathered.faults),
      }
    },
  }),
]

function writeCursor(places: Places): string {
  return Buffer.from(JSON.stringify(places)).toString('base64url')
}

function readCursor(cursor: string): Places {
  try {
    const places = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Places
    const isPlace = (place: unknown) => place === null || typeof place === 'string'
    if (typeof places === 'object' && places !== null && Object.values(places).every(isPlace)) return places
  } catch {
    // Falls through to the same answer.
  }
  throw new ProblemError('invalid-request', 'Give the cursor of the page before.')
}
