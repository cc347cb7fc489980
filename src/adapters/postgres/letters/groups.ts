import { currentTriage, type Triage, UNTRIAGED } from '../../../core/dead-letter/group.ts'
import { OptionsError } from '../../../core/options/faults.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, oneOf, optional, text, withDefault } from '../../../core/options/rules.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Group, GroupNote, GroupPage, GroupQuery, Groups, TriageChange } from '../../../ports/groups.ts'
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT } from '../../../ports/letter-query.ts'
import { ask, inTransaction } from '../ask.ts'
import type { PgPool } from '../client.ts'
import type { Door } from '../door.ts'
import { holdable } from '../text.ts'
import { channelsOf, type GroupPlace, type GroupRow, readGroup, readGroups } from './group-rows.ts'

const queryRules = {
  state: optional(oneOf('open', 'acknowledged', 'muted', 'resolved')),
  channel: optional(text()),
  search: optional(text()),
  limit: withDefault(integer({ min: 1, max: MAX_PAGE_LIMIT }), DEFAULT_PAGE_LIMIT),
  cursor: optional(text()),
}

/** Groups are counted from the letters when somebody asks; what people say of them is a row of its own. */
export class PostgresGroups implements Groups {
  readonly #pool: PgPool
  readonly #clock: Clock
  readonly #door: Door

  constructor(pool: PgPool, clock: Clock, door: Door) {
    this.#pool = pool
    this.#clock = clock
    this.#door = door
  }

  async list(query?: GroupQuery): Promise<GroupPage> {
    this.#door.requireOpen()
    const { cursor, state, limit, ...wanted } = resolveOptions('query', queryRules, query)
    const found: GroupRow[] = []
    let behind = cursor === undefined ? undefined : readCursor(cursor)
    // What state a group is in depends on the time of asking, so that is not left to the database.
    for (let isMore = true; isMore && found.length <= limit; ) {
      const rows = await readGroups(this.#pool, wanted, behind, limit + 1)
      found.push(...rows.filter(row => state === undefined || this.#triageOf(row).state === state))
      behind = rows.at(-1)
      isMore = rows.length > limit
    }
    const groups = await this.#withChannels(found.slice(0, limit))
    const last = groups.at(-1)
    const hasMore = found.length > limit && last !== undefined
    return { groups, cursor: hasMore ? `${last.lastSeenAt}_${last.id}` : undefined }
  }

  async get(id: string): Promise<Group | undefined> {
    this.#door.requireOpen()
    const row = await readGroup(this.#pool, id)
    return row && (await this.#withChannels([row]))[0]
  }

  async change(id: string, change: TriageChange): Promise<Group | undefined> {
    this.#door.requireOpen()
    const isChanged = await inTransaction(this.#pool, 'changing a group', async client => {
      const { rows } = await ask(
        client,
        'changing a group',
        `select triage::text as triage, notes::text as notes from lazaret.groups g
         where id = $1 and exists (select from lazaret.dead_letters where group_id = g.id) for update`,
        [holdable(id)],
      )
      if (rows.length === 0) return false
      const { triage, notes } = changed(rows[0], change)
      await ask(
        client,
        'changing a group',
        'update lazaret.groups set triage = $2, notes = $3 where id = $1',
        [id, JSON.stringify(triage), JSON.stringify(notes)],
      )
      return true
    })
    return isChanged ? this.get(id) : undefined
  }

  #triageOf({ triage: text, lastSeenAt }: GroupRow) {
    const triage: Triage = text === null ? UNTRIAGED : JSON.parse(text)
    return { triage, ...currentTriage(triage, lastSeenAt, this.#clock.now()) }
  }

  async #withChannels(rows: readonly GroupRow[]): Promise<Group[]> {
    const channels = await channelsOf(
      this.#pool,
      rows.map(({ id }) => id),
    )
    return rows.map(row => ({
      ...row,
      ...this.#triageOf(row),
      channels: channels.get(row.id) ?? [],
      notes: JSON.parse(row.notes) as GroupNote[],
    }))
  }
}

function changed(
  stored: { readonly triage: string | null; readonly notes: string },
  { at, by, note, owner, link, state, mutedUntil }: TriageChange,
) {
  const before: Triage = stored.triage === null ? UNTRIAGED : JSON.parse(stored.triage)
  const notes: GroupNote[] = JSON.parse(stored.notes)
  return {
    triage: {
      ...before,
      ...(state === undefined ? {} : { state, mutedUntil, setAt: at, setBy: by }),
      ...(owner === undefined ? {} : { owner: owner ?? undefined }),
      ...(link === undefined ? {} : { link: link ?? undefined }),
    },
    notes: note === undefined ? notes : [...notes, { at, by, text: note }],
  }
}

function readCursor(cursor: string): GroupPlace {
  const [, time, id] = /^(-?[\d.]+(?:e[+-]?\d+)?)_(.+)$/.exec(cursor) ?? []
  if (id !== undefined) return { lastSeenAt: Number(time), id }
  const remedy = 'give the cursor of the page before'
  throw new OptionsError('query', [{ path: 'query.cursor', received: JSON.stringify(cursor), remedy }])
}
