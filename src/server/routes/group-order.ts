import { decodeCursor, encodeCursor } from '../../adapter-kit/query/cursor.ts'
import type { Group } from '../../ports/groups.ts'
import type { Room } from '../room.ts'
import type { GroupPage, GroupSort } from '../schema/groups.ts'
import type { NamedStore } from '../stores/federation.ts'
import { groupView } from '../views/group.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Rates are told for so many; those seen longer ago than an hour have none. */
const MOST_RATED = 300

interface Ranked extends NamedStore {
  readonly group: Group
  /** Greater comes first, number by number; then the lesser text. */
  readonly rank: readonly number[]
  readonly tie: string
}

interface Asked {
  readonly sort: GroupSort
  readonly limit: number
  readonly cursor: string | undefined
}

/** Groups of all stores in one order; the cursor names the place in it, so that it holds while groups come and go. */
export async function pageOfGroups(
  room: Room,
  found: readonly (NamedStore & { readonly value: readonly Group[] })[],
  { sort, limit, cursor }: Asked,
): Promise<GroupPage> {
  const all = found.flatMap(({ value, ...named }) => value.map(group => ({ ...named, group })))
  const rates = sort === 'regressed' || sort === 'rate' ? await ratesOf(room, all) : undefined
  const now = room.clock.now()
  const behind = cursor === undefined ? undefined : readCursor(cursor, sort)
  const ranked = all
    .map((each): Ranked => {
      const tie = `${each.group.id} ${each.name}`
      return { ...each, rank: rankOf(each.group, sort, rates?.get(tie) ?? 0, now), tie }
    })
    .filter(each => behind === undefined || compare(each, behind) > 0)
    .sort(compare)
  const page = ranked.slice(0, limit)
  const last = page.at(-1)
  const sparklines = await Promise.all(page.map(each => room.figures.sparkline(each, each.group.id)))
  const texts = await Promise.all(page.map(each => room.shownGroups.textsOf(each, each.group)))
  return {
    groups: page.map(({ name, group }, index) => groupView(name, group, sparklines[index]!, texts[index]!)),
    cursor: ranked.length > page.length && last !== undefined ? writeCursor(last, sort) : undefined,
  }
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
  room: Room,
  all: readonly (NamedStore & { readonly group: Group })[],
): Promise<ReadonlyMap<string, number>> {
  const anHourAgo = room.clock.now() - HOUR_MS
  const lately = all
    .filter(({ group }) => group.lastSeenAt > anHourAgo)
    .sort((a, b) => b.group.lastSeenAt - a.group.lastSeenAt)
    .slice(0, MOST_RATED)
  const rates = await Promise.all(
    lately.map(async each => {
      const sparkline = await room.figures.sparkline(each, each.group.id)
      return [`${each.group.id} ${each.name}`, sparkline.at(-1) ?? 0] as const
    }),
  )
  return new Map(rates)
}

function compare(a: Pick<Ranked, 'rank' | 'tie'>, b: Pick<Ranked, 'rank' | 'tie'>): number {
  for (const [index, own] of a.rank.entries()) {
    const other = b.rank[index] ?? 0
    if (own !== other) return other - own
  }
  return a.tie === b.tie ? 0 : a.tie < b.tie ? -1 : 1
}

function writeCursor({ rank, tie }: Ranked, sort: GroupSort): string {
  const place = Buffer.from(JSON.stringify([rank, tie])).toString('base64url')
  return encodeCursor({ name: 'groups of all stores', filter: sort }, place)
}

function readCursor(cursor: string, sort: GroupSort): Pick<Ranked, 'rank' | 'tie'> {
  return decodeCursor({ name: 'groups of all stores', filter: sort }, cursor, readPlace)
}

function readPlace(place: string): Pick<Ranked, 'rank' | 'tie'> | undefined {
  try {
    const [rank, tie] = JSON.parse(Buffer.from(place, 'base64url').toString()) as [number[], string]
    const isPlace = Array.isArray(rank) && rank.every(Number.isFinite) && typeof tie === 'string'
    return isPlace ? { rank, tie } : undefined
  } catch {
    return undefined
  }
}
