// What every store means by a query for groups, and by a change that people make to one.
import { type Triage, UNTRIAGED } from '../../core/dead-letter/group.ts'
import { resolveOptions } from '../../core/options/resolve.ts'
import { oneOf, optional, text } from '../../core/options/rules.ts'
import type { Group, GroupNote, GroupQuery, TriageChange } from '../../ports/groups.ts'
import {
  decodeCursor,
  decodeTimedPosition,
  encodeCursor,
  encodeTimedPosition,
  type Listing,
} from './cursor.ts'
import { pageRules } from './page.ts'

const queryRules = {
  state: optional(oneOf('open', 'acknowledged', 'muted', 'resolved')),
  channel: optional(text()),
  search: optional(text()),
  ...pageRules,
}

/** `behind` is the last group of the page before. */
export function resolveGroupQuery(query: GroupQuery | undefined) {
  const { cursor, ...wanted } = resolveOptions('query', queryRules, query)
  return { ...wanted, startAfter: cursor === undefined ? undefined : readCursor(cursor, wanted) }
}

/** Where a group stands in the list: last seen first, of the same time the lesser id first. */
export type GroupPosition = Pick<Group, 'id' | 'lastSeenAt'>

/** Below zero when `a` comes first. */
export function compareGroups(a: GroupPosition, b: GroupPosition): number {
  return b.lastSeenAt - a.lastSeenAt || (a.id === b.id ? 0 : a.id < b.id ? -1 : 1)
}

type GroupFilter = Pick<GroupQuery, 'state' | 'channel' | 'search'>

/** Whether a group is among those asked for. Stores with a query language of their own must answer the same. */
export function matchesGroup(
  { state, channels, title, basis }: Pick<Group, 'state' | 'channels' | 'title' | 'basis'>,
  filter: GroupFilter,
): boolean {
  const { channel, search } = filter
  return (
    (filter.state ?? state) === state &&
    (channel === undefined || channels.includes(channel)) &&
    (search === undefined || `${title}\n${basis}`.toLowerCase().includes(search.toLowerCase()))
  )
}

/** The cursor behind a group, for the same filter. */
export function groupCursor({ lastSeenAt, id }: GroupPosition, filter: GroupFilter): string {
  return encodeCursor(listingOf(filter), encodeTimedPosition(lastSeenAt, id))
}

function readCursor(cursor: string, filter: GroupFilter): GroupPosition {
  const { at, id } = decodeCursor(listingOf(filter), cursor, decodeTimedPosition)
  return { lastSeenAt: at, id }
}

function listingOf({ state, channel, search }: GroupFilter): Listing {
  return { name: 'groups', filter: [state, channel, search] }
}

/** What people said about a group. */
export interface GroupTriage {
  readonly triage: Triage
  readonly notes: readonly GroupNote[]
}

export const NO_TRIAGE: GroupTriage = Object.freeze({ triage: UNTRIAGED, notes: [] })

export function applyTriageChange({ triage, notes }: GroupTriage, change: TriageChange): GroupTriage {
  const { state, owner, link, mutedUntil, note, at, by } = change
  return {
    triage: {
      ...triage,
      ...(state === undefined ? {} : { state, mutedUntil, setAt: at, setBy: by }),
      ...(owner === undefined ? {} : { owner: owner ?? undefined }),
      ...(link === undefined ? {} : { link: link ?? undefined }),
    },
    notes: note === undefined ? notes : [...notes, { at, by, text: note }],
  }
}
