import type { AuditEntry, AuditPage } from '../../ports/audit.ts'
import { ProblemError } from '../http/problem.ts'
import { API, route } from '../http/route.ts'
import { auditPage, auditQuery } from '../schema/audit.ts'
import { type NamedStore, partly } from '../stores/federation.ts'
import { auditView } from '../views/audit.ts'

const MOST_SHOWN = 500

/** Where each store is to be read on: the cursor of its page, and how many of that page were shown already. */
type Places = Readonly<Record<string, readonly [cursor: string | null, shown: number]>>

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
      const gathered = await room.stores.each(async named => {
        if (!asked.includes(named)) return undefined
        const [from, shown] = places?.[named.name] ?? [null, 0]
        // As many as a whole page beyond those shown, or what is newer would stay behind the end of it.
        const page = await named.store.audit.list({
          target,
          action,
          limit: limit + shown,
          cursor: from ?? undefined,
        })
        return { page, from, shown, left: page.entries.slice(shown) }
      }, store)
      const pages = gathered.found.flatMap(({ value, ...named }) =>
        value === undefined ? [] : [{ ...named, ...value }],
      )
      const merged = pages
        .flatMap(each => each.left.map(entry => ({ each, entry })))
        .sort((a, b) => b.entry.at - a.entry.at)
        .slice(0, limit)
      const next = pages.flatMap(each => {
        const taken = merged.filter(one => one.each === each).length
        return placeAfter(each, taken)
      })
      return {
        entries: merged.map(({ each, entry }) => auditView(each.name, entry)),
        cursor: next.length === 0 ? undefined : writeCursor(Object.fromEntries(next)),
        ...partly(gathered.faults),
      }
    },
  }),
]

interface ReadPage extends NamedStore {
  readonly page: AuditPage
  readonly from: string | null
  readonly shown: number
  readonly left: readonly AuditEntry[]
}

/** Nothing when the store has no more. */
function placeAfter({ name, page, from, shown, left }: ReadPage, taken: number): [string, Places[string]][] {
  if (taken < left.length) return [[name, [from, shown + taken]]]
  return page.cursor === undefined ? [] : [[name, [page.cursor, 0]]]
}

function writeCursor(places: Places): string {
  return Buffer.from(JSON.stringify(places)).toString('base64url')
}

function readCursor(cursor: string): Places {
  try {
    const places = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Places
    const isPlace = (place: unknown) =>
      Array.isArray(place) &&
      (place[0] === null || typeof place[0] === 'string') &&
      Number.isSafeInteger(place[1]) &&
      place[1] >= 0 &&
      place[1] <= MOST_SHOWN
    if (typeof places === 'object' && places !== null && Object.values(places).every(isPlace)) return places
  } catch {
    // Falls through to the same answer.
  }
  throw new ProblemError('invalid-request', 'Give the cursor of the page before.')
}
