import { currentTriage, type Triage, UNTRIAGED } from '../../core/dead-letter/group.ts'
import { type GroupTally, tallyGroups } from '../../core/dead-letter/group-tally.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Group, GroupNote, GroupPage, GroupQuery, Groups, TriageChange } from '../../ports/groups.ts'

const DEFAULT_LIMIT = 100

/** Groups are added up from the letters whenever someone asks; only what people say about them is kept. */
export class MemoryGroups implements Groups {
  readonly #letters: () => Iterable<DeadLetter>
  readonly #clock: Clock
  readonly #triages = new Map<string, Triage>()
  readonly #notes = new Map<string, readonly GroupNote[]>()

  constructor(letters: () => Iterable<DeadLetter>, clock: Clock) {
    this.#letters = letters
    this.#clock = clock
  }

  async list({ state, channel, search, limit = DEFAULT_LIMIT, cursor }: GroupQuery = {}): Promise<GroupPage> {
    const text = search?.toLowerCase()
    const groups = [...tallyGroups(this.#letters()).values()]
      .map(tally => this.#group(tally))
      .filter(group => state === undefined || group.state === state)
      .filter(group => channel === undefined || group.channels.includes(channel))
      .filter(group => text === undefined || `${group.title}\n${group.basis}`.toLowerCase().includes(text))
      .sort((a, b) => b.lastSeenAt - a.lastSeenAt || (a.id < b.id ? -1 : 1))
      .filter(group => cursor === undefined || isBehind(group, cursor))
    const page = groups.slice(0, limit)
    const last = page.at(-1)
    return { groups: page, cursor: last !== undefined && limit < groups.length ? place(last) : undefined }
  }

  async get(id: string): Promise<Group | undefined> {
    const tally = tallyGroups(this.#letters()).get(id)
    return tally && this.#group(tally)
  }

  async change(
    id: string,
    { at, by, note, owner, link, state, mutedUntil }: TriageChange,
  ): Promise<Group | undefined> {
    const tally = tallyGroups(this.#letters()).get(id)
    if (tally === undefined) return undefined
    const before = this.#triages.get(id) ?? UNTRIAGED
    this.#triages.set(id, {
      ...before,
      ...(state === undefined ? {} : { state, mutedUntil, setAt: at, setBy: by }),
      ...(owner === undefined ? {} : { owner: owner ?? undefined }),
      ...(link === undefined ? {} : { link: link ?? undefined }),
    })
    if (note !== undefined) this.#notes.set(id, [...(this.#notes.get(id) ?? []), { at, by, text: note }])
    return this.#group(tally)
  }

  #group(tally: GroupTally): Group {
    const triage = this.#triages.get(tally.id) ?? UNTRIAGED
    const current = currentTriage(triage, tally.lastSeenAt, this.#clock.now())
    return { ...tally, triage, ...current, notes: this.#notes.get(tally.id) ?? [] }
  }
}

function place(group: Group): string {
  return `${group.lastSeenAt}:${group.id}`
}

function isBehind({ lastSeenAt, id }: Group, cursor: string): boolean {
  const [at, lastId = ''] = cursor.split(':')
  return lastSeenAt < Number(at) || (lastSeenAt === Number(at) && id > lastId)
}
