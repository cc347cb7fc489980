// What every store means by a query for groups, and by a change that people make to one.
import { type Triage, UNTRIAGED } from '../core/dead-letter/group.ts'
import { resolveOptions } from '../core/options/resolve.ts'
import { oneOf, optional, text } from '../core/options/rules.ts'
import type { Group, GroupNote, GroupQuery, TriageChange } from './groups.ts'
import { cursorFault, pageRules } from './page.ts'

const queryRules = {
  state: optional(oneOf('open', 'acknowledged', 'muted', 'resolved')),
  channel: optional(text()),
  search: optional(text()),
  ...pageRules,
}

/** `behind` is the last group of the page before. */
export function resolveGroupQuery(query: GroupQuery | undefined) {
  const { cursor, ...wanted } = resolveOptions('query', queryRules, query)
  return { ...wanted, behind: cursor === undefined ? undefined : readCursor(cursor) }
}

/** Where a group stands in the list: last seen first, of the same time the lesser id first. */
export type GroupPlace = Pick<Group, 'id' | 'lastSeenAt'>

/** Below zero when `a` comes first. */
export function compareGroups(a: GroupPlace, b: GroupPlace): number {
  return b.lastSeenAt - a.lastSeenAt || (a.id === b.id ? 0 : a.id < b.id ? -1 : 1)
}

export function groupCursor({ lastSeenAt, id }: GroupPlace): string {
  return `${lastSeenAt}_${id}`
}

function readCursor(cursor: string): GroupPlace {
  const [, time, id] = /^(-?[\d.]+(?:e[+-]?\d+)?)_(.+)$/.exec(cursor) ?? []
  if (id === undefined) throw cursorFault(cursor)
  return { lastSeenAt: Number(time), id }
}

/** What people said about a group. */
export interface GroupTalk {
  readonly triage: Triage
  readonly notes: readonly GroupNote[]
}

export const NO_TALK: GroupTalk = Object.freeze({ triage: UNTRIAGED, notes: [] })

export function talkAfter({ triage, notes }: GroupTalk, change: TriageChange): GroupTalk {
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
