import { join } from 'node:path'
import {
  applyTriageChange,
  compareGroups,
  type GroupTriage,
  groupCursor,
  matchesGroup,
  NO_TRIAGE,
  resolveGroupQuery,
} from '../../../adapter-kit/query/group-query.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import { currentTriage, groupingOf } from '../../../core/dead-letter/group.ts'
import { GroupCounter, type GroupCounts } from '../../../core/dead-letter/group-tally.ts'
import { isPlainObject } from '../../../core/event/plain.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Group, GroupPage, GroupQuery, Groups, TriageChange } from '../../../ports/groups.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import { type Journal, type JournalSettings, openJournal } from '../journal/journal.ts'
import type { JournalRecord } from '../journal/line.ts'
import { type JournalUser, jsonOf, UnreadableError } from '../journal/segment-set.ts'
import { Lazy } from '../lazy.ts'
import type { LazyLetterLog } from './lazy-letter-log.ts'
import type { LetterIndex } from './record.ts'
import { byKind, matching } from './selection.ts'

const TRIAGE = 'triage'
/** The number of groups whose newest letters are read together. */
const READ_AT_ONCE = 64

interface OpenedTriage {
  readonly journal: Journal
  readonly index: TriageIndex
}

/** The facts of a group from the index. Its title comes from a letter. */
interface IndexedGroup extends GroupCounts {
  readonly id: string
  /** The id of the newest letter. */
  readonly newest: string
}

/** Computes groups from the index of letters. Only triage has its own journal. */
export class FileGroups implements Groups {
  readonly #letters: LazyLetterLog
  readonly #triage: Lazy<OpenedTriage>
  readonly #clock: Clock

  /** Triage is stored in the folder `groups` of the store's folder. */
  constructor(letters: LazyLetterLog, settings: JournalSettings) {
    const own = { ...settings, dir: join(settings.dir, 'groups') }
    this.#letters = letters
    this.#clock = settings.clock
    this.#triage = new Lazy(
      async () => {
        const index = new TriageIndex()
        return { index, journal: await openJournal(own, index) }
      },
      ({ journal }) => journal.close(),
      () => new StoreClosedError(own.dir),
    )
  }

  async list(query?: GroupQuery): Promise<GroupPage> {
    const { state, channel, search, limit, startAfter } = resolveGroupQuery(query)
    const { log } = await this.#letters.read()
    const { index } = await this.#readTriage()
    const wanted = (await tallyGroups(log.index))
      .filter(group => channel === undefined || group.channels.includes(channel))
      .filter(group => startAfter === undefined || compareGroups(group, startAfter) > 0)
      .filter(group => state === undefined || this.#stateOf(group, index).state === state)
      .sort(compareGroups)
    const groups: Group[] = []
    const step = Math.min(READ_AT_ONCE, limit + 1)
    for (let start = 0; start < wanted.length && groups.length <= limit; start += step) {
      const portion = wanted.slice(start, start + step)
      groups.push(...(await this.#describe(portion, index)).filter(group => matchesGroup(group, { search })))
    }
    const { shown, cursor } = pageOf(groups, limit, last => groupCursor(last, query ?? {}))
    return { groups: shown, cursor }
  }

  async get(id: string): Promise<Group | undefined> {
    const { log } = await this.#letters.read()
    const { index } = await this.#readTriage()
    const [group] = await this.#describe(await tallyGroups(log.index, id), index)
    return group
  }

  async change(id: string, change: TriageChange): Promise<Group | undefined> {
    if ((await this.get(id)) === undefined) return undefined
    const { journal, index } = await this.#triage.open()
    const record = { kind: TRIAGE, text: JSON.stringify({ group: id, change }) }
    await journal.decide(() => ({ records: [record], written: () => index.add(id, change) }))
    return await this.get(id)
  }

  close(): Promise<void> {
    return this.#triage.close()
  }

  async #readTriage(): Promise<OpenedTriage> {
    const opened = await this.#triage.open()
    await opened.journal.refresh()
    return opened
  }

  #stateOf({ id, lastSeenAt }: IndexedGroup, index: TriageIndex) {
    return currentTriage(index.of(id).triage, lastSeenAt, this.#clock.now())
  }

  /** Adds the titles from the newest letters. It leaves out groups whose letters were deleted meanwhile. */
  async #describe(indexed: readonly IndexedGroup[], index: TriageIndex): Promise<Group[]> {
    const { log } = await this.#letters.read()
    const letters = await log.read(indexed.map(({ newest }) => newest))
    return indexed.flatMap((group, at) => {
      const letter = letters[at]
      if (letter === undefined) return []
      const { newest: _, ...counted } = group
      return {
        ...groupingOf(letter),
        ...counted,
        category: letter.cycle.category,
        ...index.of(group.id),
        ...this.#stateOf(group, index),
      }
    })
  }
}

/** Computes all groups from the index, or only the given one. */
async function tallyGroups(index: LetterIndex, only?: string): Promise<IndexedGroup[]> {
  const groups = new Map<string, { counter: GroupCounter; newestAt: number; newest: string }>()
  for await (const found of matching(index, only === undefined ? {} : { group: only }))
    for (const { kind, count, firstFailedAt, newestAt, newest } of byKind(found)) {
      const group = groups.get(kind.group) ?? { counter: new GroupCounter(), newestAt, newest }
      groups.set(kind.group, group)
      group.counter.add(kind, count, firstFailedAt, newestAt)
      if (newestAt >= group.newestAt) Object.assign(group, { newestAt, newest })
    }
  return [...groups].map(([id, { counter, newest }]) => ({ id, newest, ...counter.counts }))
}

/** Applies every change of triage in order. The result is the current triage. */
class TriageIndex implements JournalUser {
  readonly #byGroup = new Map<string, GroupTriage>()

  of(group: string): GroupTriage {
    return this.#byGroup.get(group) ?? NO_TRIAGE
  }

  apply(record: JournalRecord): void {
    if (record.kind !== TRIAGE) return
    const { group, change } = parse(record)
    this.add(group, change)
  }

  add(group: string, change: TriageChange): void {
    this.#byGroup.set(group, applyTriageChange(this.of(group), change))
  }

  reset(): void {
    this.#byGroup.clear()
  }
}

function parse(record: JournalRecord): { readonly group: string; readonly change: TriageChange } {
  const value = jsonOf(record)
  const { group, change } = isPlainObject(value) ? value : {}
  if (typeof group === 'string' && isPlainObject(change))
    return { group, change: change as unknown as TriageChange }
  throw new UnreadableError('no change of a group')
}
