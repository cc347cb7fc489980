import { filterForServer, readFilter } from '../lib/letter-filters.ts'
import { readOrder } from '../lib/letter-order.ts'
import { pathOf } from '../lib/paths.ts'
import { findByPath } from '../lib/route.ts'
import type { Query } from './client.ts'

// What the screens ask for, by the address they are at: for the screens themselves, and for the start of the console,
// which asks before they are drawn.

/** A page has an end, so that "this page" means something and the tab stays small; its rows are drawn as they come in sight. */
const LETTERS_ON_PAGE = 200
const LETTERS_OF_GROUP = 50
export const LATEST_REPLAYS = 200
/** Agents are looked for among these audit entries. */
export const LATEST_ENTRIES = 500

export function groupsQuery(params: URLSearchParams) {
  return {
    state: params.get('state') ?? undefined,
    channel: params.get('channel') ?? undefined,
    search: params.get('search') ?? undefined,
    sort: params.get('sort') ?? undefined,
    cursor: params.get('cursor') ?? undefined,
  }
}

export function lettersQuery(search: string, now: number) {
  const filter = filterForServer(readFilter(search), now)
  const params = new URLSearchParams(search)
  const cursor = params.get('cursor') ?? undefined
  const { startAt } = readOrder(search)
  const order = {
    sort: params.get('sort') ?? undefined,
    order: params.get('order') ?? undefined,
    startAt: cursor === undefined ? startAt : undefined,
  }
  return { filter, page: { ...filter, ...order, cursor, limit: LETTERS_ON_PAGE } }
}

export function groupLettersQuery(group: string) {
  return { group, limit: LETTERS_OF_GROUP }
}

/** The two letters that an address compares; none unless it names both. */
export function comparedLetters(params: URLSearchParams): readonly [string, string] | readonly [] {
  const [first, second] = [params.get('first') ?? '', params.get('second') ?? '']
  return first === '' || second === '' ? [] : [first, second]
}

export function replaysQuery(params: URLSearchParams) {
  return { state: params.get('state') ?? '', limit: LATEST_REPLAYS }
}

export function auditQuery(params: URLSearchParams) {
  return {
    by: params.get('by') ?? '',
    action: params.get('action') ?? '',
    target: params.get('target') ?? '',
    cursor: params.get('cursor') ?? undefined,
  }
}

export function servicesQuery(params: URLSearchParams) {
  return { cursor: params.get('cursor') ?? undefined }
}

export interface Asked {
  readonly path: string
  readonly query?: Query
}

type Ask = (params: URLSearchParams, now: number, id: string) => readonly Asked[]

const ASKS: Readonly<Record<string, Ask>> = {
  '/': () => [{ path: '/groups' }],
  '/overview': () => [{ path: '/overview' }],
  '/groups': params => [{ path: '/groups', query: groupsQuery(params) }],
  '/groups/:id': (_params, _now, id) => [
    { path: pathOf('groups', id) },
    { path: '/dead-letters', query: groupLettersQuery(id) },
  ],
  '/letters': (params, now) => {
    const { filter, page } = lettersQuery(params.toString(), now)
    return [
      { path: '/dead-letters', query: page },
      { path: '/dead-letters/stats', query: filter },
    ]
  },
  '/letters/compare': params => comparedLetters(params).map(id => ({ path: pathOf('dead-letters', id) })),
  '/letters/:id': (_params, _now, id) => [{ path: pathOf('dead-letters', id) }],
  '/replays': params => [{ path: '/replays', query: replaysQuery(params) }],
  '/replays/new': () => [],
  '/replays/:id': (_params, _now, id) => [{ path: pathOf('replays', id) }],
  '/channels': () => [{ path: '/channels' }],
  '/services': params => [{ path: '/fleet/services', query: servicesQuery(params) }],
  '/audit': params => [{ path: '/audit', query: auditQuery(params) }],
}

/** The screen's own first, and then who is looking, which every screen needs. */
export function queriesOf(path: string, search: string, now: number): readonly Asked[] {
  const found = findByPath(ASKS, path)
  const own = found?.value(new URLSearchParams(search), now, found.places[0] ?? '') ?? []
  return [...own, { path: '/me' }]
}
