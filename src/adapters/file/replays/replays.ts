import type { Clock } from '../../../ports/clock.ts'
import { DEFAULT_PAGE_LIMIT } from '../../../ports/page.ts'
import type {
  ItemQuery,
  Replay,
  ReplayCounts,
  ReplayItem,
  ReplayState,
  Replays,
} from '../../../ports/replays.ts'
import { ReplayExistsError } from '../../../ports/store-errors.ts'
import type { Door } from '../door.ts'
import { type Decision, decide } from '../journal/decide.ts'
import type { Journal } from '../journal/journal.ts'
import { ItemBook, itemRecord, itemRecords } from './item-book.ts'
import type { ItemShelf, OpenedItems } from './item-shelf.ts'
import { leaseRecord, type ReplayBook, replayRecord } from './replay-book.ts'

export interface OpenedReplays {
  readonly journal: Journal
  readonly book: ReplayBook
}

/**
 * One journal for all replays, and one for the items of each: those are many, and only of interest while someone looks
 * at the replay. The items are durable before the replay is, so a replay that is there has all of them.
 */
export class FileReplays implements Replays {
  readonly #door: Door<OpenedReplays>
  readonly #shelf: ItemShelf
  readonly #clock: Clock
  #before: Promise<unknown> = Promise.resolve()

  constructor(door: Door<OpenedReplays>, shelf: ItemShelf, clock: Clock) {
    this.#door = door
    this.#shelf = shelf
    this.#clock = clock
  }

  async create(replay: Replay, items: readonly ReplayItem[]): Promise<void> {
    if ((await this.get(replay.id)) !== undefined) throw new ReplayExistsError(replay.id)
    await this.#writeItems(replay.id, items, itemRecords(items))
    await this.#decide(book => {
      if (book.get(replay.id) !== undefined) throw new ReplayExistsError(replay.id)
      return { records: [replayRecord(replay)], written: () => book.put(replay) }
    })
  }

  async get(id: string): Promise<Replay | undefined> {
    return (await this.#read()).book.get(id)
  }

  async list(
    options: { readonly state?: ReplayState | undefined; readonly limit?: number | undefined } = {},
  ): Promise<readonly Replay[]> {
    const { state, limit = DEFAULT_PAGE_LIMIT } = options
    const { book } = await this.#read()
    const wanted = book.all.filter(replay => state === undefined || replay.state === state)
    return wanted.sort((a, b) => b.createdAt - a.createdAt).slice(0, limit)
  }

  async update(replay: Replay): Promise<Replay | undefined> {
    return await this.#decide<Replay | undefined>(book => {
      if (book.get(replay.id)?.revision !== replay.revision) return { records: [], written: () => undefined }
      const next = { ...replay, revision: replay.revision + 1 }
      return {
        records: [replayRecord(next)],
        written: () => {
          book.put(next)
          return next
        },
      }
    })
  }

  async items(id: string, query: ItemQuery = {}): Promise<readonly ReplayItem[]> {
    const { status, after = -1, limit = Number.POSITIVE_INFINITY } = query
    return (await this.#readItems(id)).select(status, after, limit)
  }

  async record(id: string, items: readonly ReplayItem[]): Promise<void> {
    if ((await this.get(id)) !== undefined) await this.#writeItems(id, items, [itemRecord(items)])
  }

  async counts(id: string): Promise<ReplayCounts> {
    return (await this.#readItems(id)).counts()
  }

  async lease(id: string, owner: string, leaseMs: number): Promise<boolean> {
    return await this.#lease(id, owner, leaseMs)
  }

  async letGo(id: string, owner: string): Promise<void> {
    const { book } = await this.#read()
    if (book.leaseOf(id)?.owner === owner) await this.#lease(id, owner, 0)
  }

  async #lease(id: string, owner: string, leaseMs: number): Promise<boolean> {
    return await this.#decide<boolean>(book => {
      const now = this.#clock.now()
      const held = book.leaseOf(id)
      const isTaken = held !== undefined && held.owner !== owner && held.until > now
      if (isTaken || book.get(id) === undefined) return { records: [], written: () => false }
      const lease = { id, owner, until: now + leaseMs }
      return {
        records: [leaseRecord(lease)],
        written: () => {
          book.putLease(lease)
          return true
        },
      }
    })
  }

  /** One after the other: of decisions that are written together, none would see what another one makes of the book. */
  #decide<T>(make: (book: ReplayBook) => Decision<T>): Promise<T> {
    const decided = this.#before.then(async () => {
      const { journal, book } = await this.#door.enter()
      return await decide(journal, () => make(book))
    })
    this.#before = decided.catch(() => {})
    return decided
  }

  async #read(): Promise<OpenedReplays> {
    const opened = await this.#door.enter()
    await opened.journal.refresh()
    return opened
  }

  async #readItems(id: string): Promise<ItemBook> {
    if ((await this.get(id)) === undefined) return new ItemBook()
    return await this.#shelf.use(id, async ({ journal, book }: OpenedItems) => {
      await journal.refresh()
      return book
    })
  }

  async #writeItems(
    id: string,
    items: readonly ReplayItem[],
    records: ReturnType<typeof itemRecords>,
  ): Promise<void> {
    await this.#shelf.use(id, async ({ journal, book }) => {
      await decide(journal, () => ({ records, written: () => book.put(items) }))
    })
  }
}
