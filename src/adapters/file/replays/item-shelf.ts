import { join } from 'node:path'
import { StoreClosedError } from '../../../ports/store-errors.ts'
import { type Journal, type JournalSettings, openJournal } from '../journal/journal.ts'
import { ItemBook } from './item-book.ts'

export interface OpenedItems {
  readonly journal: Journal
  readonly book: ItemBook
}

interface Slot {
  readonly opening: Promise<OpenedItems>
  users: number
}

/** Items of so many replays are kept in memory; of the others they are read again when asked for. */
const MOST_OPEN = 4

/** The items of replays, each in a folder of its own. Those that were used last stay open. */
export class ItemShelf {
  readonly #settings: JournalSettings
  /** The one used last is the last. */
  readonly #slots = new Map<string, Slot>()
  #isClosed = false

  constructor(settings: JournalSettings) {
    this.#settings = settings
  }

  async use<T>(id: string, work: (opened: OpenedItems) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new StoreClosedError(`replays in ${this.#settings.dir}`)
    const slot = this.#slots.get(id) ?? { opening: this.#open(id), users: 0 }
    this.#slots.delete(id)
    this.#slots.set(id, slot)
    slot.users++
    try {
      return await work(await slot.opening)
    } catch (error) {
      // One that could not be opened is no use to the next.
      await slot.opening.catch(() => this.#slots.delete(id))
      throw error
    } finally {
      slot.users--
      await this.#putAway()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const slots = [...this.#slots.values()]
    this.#slots.clear()
    for (const { opening } of slots) await (await opening.catch(() => undefined))?.journal.close()
  }

  async #putAway(): Promise<void> {
    for (const [id, slot] of this.#slots) {
      if (this.#slots.size <= MOST_OPEN) return
      if (slot.users > 0) continue
      this.#slots.delete(id)
      await (await slot.opening).journal.close()
    }
  }

  async #open(id: string): Promise<OpenedItems> {
    const book = new ItemBook()
    // An id may hold anything; as a name it holds no slash and is never `.` or `..`.
    const dir = join(this.#settings.dir, `items-${encodeURIComponent(id)}`)
    return { journal: await openJournal({ ...this.#settings, dir }, book), book }
  }
}
