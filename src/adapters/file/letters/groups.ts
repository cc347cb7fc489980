import { compareGroups, groupCursor, resolveGroupQuery } from '../../../adapter-kit/query/group-query.ts'
import { currentTriage, groupingOf } from '../../../core/dead-letter/group.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Group, GroupPage, GroupQuery, Groups, TriageChange } from '../../../ports/groups.ts'
import type { Door } from '../door.ts'
import { decide } from '../journal/decide.ts'
import type { Journal } from '../journal/journal.ts'
import { type IndexedGroup, tallyGroups } from './group-tally.ts'
import type { LogDoor } from './log-door.ts'
import { type TriageBook, triageRecord } from './triage-book.ts'

/** Groups whose newest letters are read at once. */
const READ_AT_ONCE = 64

export interface OpenedTriage {
  readonly journal: Journal
  readonly book: TriageBook
}

/** Groups are added up from the index of the letters; only what people say about them has a journal of its own. */
export class FileGroups implements Groups {
  readonly #letters: LogDoor
  readonly #triage: Door<OpenedTriage>
  readonly #clock: Clock

  constructor(letters: LogDoor, triage: Door<OpenedTriage>, clock: Clock) {
    this.#letters = letters
    this.#triage = triage
    this.#clock = clock
  }

  async list(query?: GroupQuery): Promise<GroupPage> {
    const { state, channel, search, limit, behind } = resolveGroupQuery(query)
    const { log } = await this.#letters.read()
    const { book } = await this.#readTriage()
    const wanted = (await tallyGroups(log.index))
      .filter(group => channel === undefined || group.channels.includes(channel))
      .filter(group => behind === undefined || compareGroups(group, behind) > 0)
      .filter(group => state === undefined || this.#stateOf(group, book).state === state)
      .sort(compareGroups)
    const groups: Group[] = []
    const step = Math.min(READ_AT_ONCE, limit + 1)
    for (let start = 0; start < wanted.length && groups.length <= limit; start += step) {
      const portion = wanted.slice(start, start + step)
      groups.push(...(await this.#tell(portion, book)).filter(group => tellsOf(group, search)))
    }
    const shown = groups.slice(0, limit)
    const last = shown.at(-1)
    return {
      groups: shown,
      cursor: groups.length > limit && last !== undefined ? groupCursor(last, query ?? {}) : undefined,
    }
  }

  async get(id: string): Promise<Group | undefined> {
    const { log } = await this.#letters.read()
    const { book } = await this.#readTriage()
    const [group] = await this.#tell(await tallyGroups(log.index, id), book)
    return group
  }

  async change(id: string, change: TriageChange): Promise<Group | undefined> {
    if ((await this.get(id)) === undefined) return undefined
    const { journal, book } = await this.#triage.enter()
    await decide(journal, () => ({
      records: [triageRecord(id, change)],
      written: () => book.add(id, change),
    }))
    return await this.get(id)
  }

  async #readTriage(): Promise<OpenedTriage> {
    const opened = await this.#triage.enter()
    await opened.journal.refresh()
    return opened
  }

  #stateOf({ id, lastSeenAt }: IndexedGroup, book: TriageBook) {
    return currentTriage(book.of(id).triage, lastSeenAt, this.#clock.now())
  }

  /** With what their newest letters say; a group whose letters went meanwhile is left out. */
  async #tell(indexed: readonly IndexedGroup[], book: TriageBook): Promise<Group[]> {
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
        ...book.of(group.id),
        ...this.#stateOf(group, book),
      }
    })
  }
}

function tellsOf({ title, basis }: Group, search: string | undefined): boolean {
  return search === undefined || `${title}\n${basis}`.toLowerCase().includes(search.toLowerCase())
}
