import type { Door } from '../../../adapter-kit/door.ts'
import {
  type GroupTalk,
  groupCursor,
  NO_TALK,
  resolveGroupQuery,
  talkAfter,
} from '../../../adapter-kit/query/group-query.ts'
import { currentTriage, type Grouping } from '../../../core/dead-letter/group.ts'
import type { Category } from '../../../core/failure/failure.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Group, GroupPage, GroupQuery, Groups, TriageChange } from '../../../ports/groups.ts'
import { type GroupRow, readGroup, readGroups, writeTriage } from './group-scripts.ts'
import type { LetterRecords } from './letter-records.ts'

const MOST_CHANNELS = 20
const CHANNEL = 'c:'

/** Groups are added up by the scripts that write letters; what people say of them is kept apart, and stays. */
export class RedisGroups implements Groups {
  readonly #records: LetterRecords
  readonly #clock: Clock
  readonly #door: Door

  constructor(records: LetterRecords, clock: Clock, door: Door) {
    this.#records = records
    this.#clock = clock
    this.#door = door
  }

  async list(query?: GroupQuery): Promise<GroupPage> {
    this.#door.requireOpen()
    const { behind, limit, state, channel, search } = resolveGroupQuery(query)
    const found: Group[] = []
    const needle = search?.toLowerCase()
    let place = behind === undefined ? ['', ''] : [String(behind.lastSeenAt), behind.id]
    for (let isMore = true; isMore && found.length <= limit; ) {
      const rows = await this.#records.runSwept(readGroups, [...place, String(limit + 1)])
      const groups = rows.map(row => this.#group(row))
      found.push(
        ...groups.filter(
          group =>
            (state === undefined || group.state === state) &&
            (channel === undefined || group.channels.includes(channel)) &&
            (needle === undefined || `${group.title}\n${group.basis}`.toLowerCase().includes(needle)),
        ),
      )
      const last = groups.at(-1)
      isMore = rows.length > limit && last !== undefined
      if (last !== undefined) place = [String(last.lastSeenAt), last.id]
    }
    const groups = found.slice(0, limit)
    const last = groups.at(-1)
    const hasMore = found.length > limit && last !== undefined
    return { groups, cursor: hasMore ? groupCursor(last, query ?? {}) : undefined }
  }

  async get(id: string): Promise<Group | undefined> {
    this.#door.requireOpen()
    const row = await this.#records.runSwept(readGroup, [id])
    return row === 'none' ? undefined : this.#group(row)
  }

  async change(id: string, change: TriageChange): Promise<Group | undefined> {
    this.#door.requireOpen()
    for (;;) {
      const row = await this.#records.runSwept(readGroup, [id])
      if (row === 'none') return undefined
      const said = JSON.stringify(talkAfter(saidOf(row.said), change))
      if (await this.#records.run(writeTriage, [id, row.said, said])) return this.#group({ ...row, said })
    }
  }

  #group({ id, lastSeenAt, firstSeenAt, fields, said }: GroupRow): Group {
    const { triage, notes } = saidOf(said)
    const number = (field: string) => Number(fields.get(field) ?? 0)
    const channels = [...fields]
      .filter(([field]) => field.startsWith(CHANNEL))
      .sort(([, a], [, b]) => Number(b) - Number(a))
      .map(([field]) => field.slice(CHANNEL.length))
    return {
      id,
      title: this.#records.openText(fields.get('title') ?? ''),
      rule: fields.get('rule') as Grouping['rule'],
      basis: this.#records.openText(fields.get('basis') ?? ''),
      category: fields.get('category') as Category,
      channels: channels.slice(0, MOST_CHANNELS),
      count: number('count'),
      waiting: number('waiting'),
      firstSeenAt,
      lastSeenAt,
      replayed: number('replayed'),
      recovered: number('recovered'),
      triage,
      ...currentTriage(triage, lastSeenAt, this.#clock.now()),
      notes,
    }
  }
}

function saidOf(said: string): GroupTalk {
  return said === '' ? NO_TALK : JSON.parse(said)
}
