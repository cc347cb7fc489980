import type { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { listOf, textOf } from '../connection/replies.ts'
import { run } from '../connection/script.ts'
import type { HandlerContext } from './context.ts'
import { type Entry, type EntryPlace, markOf } from './entry.ts'
import type { GroupConsumer } from './group-consumer.ts'
import { FINISH } from './scripts/settling.ts'
import { isAnswerLost, UnreadableEntries } from './unreadable-entries.ts'

/** The number of ids in one look. */
const MAX_IDS = 1_000
/** Nothing more is read while so many entries cannot be read. */
const MAX_SKIPPED = 1_000
const SIDES = ['own', 'events'] as const

export interface StreamReaderHooks {
  readonly consumer: GroupConsumer
  readonly stalls: StallReporter
  /** The number of entries that the subscription can still take. */
  room(): number
  /** The marks of the entries in this consumer's name that the subscription knows: `events 1-1`. */
  known(): ReadonlySet<string>
  receive(entries: readonly Entry[]): Promise<void>
  /** Puts back entries that were read with a name that was lost meanwhile. */
  giveBack(entries: readonly Entry[]): Promise<void>
}

/**
 * Finds the entries that are assigned to this consumer and that it does not know, because the answer of a read was lost. It asks
 * for their ids, which always fit in an answer, and reads them one by one: an entry that is too large is found by that.
 */
export class EntryRecovery {
  readonly #context: HandlerContext
  readonly #hooks: StreamReaderHooks
  /** Reads on the connection of the reader, which may break: no settlement waits there. */
  readonly #read: (place: EntryPlace) => Promise<readonly string[] | undefined>
  readonly #unreadable: UnreadableEntries

  constructor(
    context: HandlerContext,
    hooks: StreamReaderHooks,
    read: (place: EntryPlace) => Promise<readonly string[] | undefined>,
  ) {
    this.#context = context
    this.#hooks = hooks
    this.#read = read
    this.#unreadable = new UnreadableEntries(context, hooks.stalls)
  }

  get hasRoom(): boolean {
    return this.#unreadable.skipped.length < MAX_SKIPPED
  }

  /** Whether entries have been assigned to this consumer for a while that it does not know, or one is to be read again. */
  async isNeeded(): Promise<boolean> {
    await this.#forgetOthers()
    if (this.#unreadable.isOneDue) return true
    for (const side of SIDES) {
      const known = this.#known()
      const idle = ['IDLE', String(Math.ceil(this.#context.settings.leaseMs / 3))]
      // The limit is one more than the known entries. If the server returns that many, one of them is unknown.
      const found = await this.#pending(side, [...idle, '-', '+', String(known.size + 1)])
      if (found.some(place => !known.has(markOf(place)))) return true
    }
    return false
  }

  /** Reads everything in this consumer's name that it does not know. Rejects if it has to be called again. */
  async run(): Promise<void> {
    const { consumer, receive } = this.#hooks
    const { name } = consumer
    for (const side of SIDES)
      for (let from = '-'; ; ) {
        // The known entries are read before the call, because some may be settled when the answer comes.
        const known = this.#hooks.known()
        const found = await this.#pending(side, [from, '+', String(MAX_IDS)])
        for (const place of found) {
          if (known.has(markOf(place)) || this.#unreadable.isWaiting(place)) continue
          try {
            const fields = await this.#read(place)
            // Others have everything that this consumer had under its last name.
            if (name !== consumer.name) return
            if (fields === undefined) await this.#finish(place)
            else await receive([{ ...place, fields }])
            this.#unreadable.forget(place)
          } catch (error) {
            if (!isAnswerLost(error) || !this.#unreadable.failed(place, error)) throw error
          }
        }
        const last = found.at(-1)
        if (last === undefined) break
        from = `(${last.id}`
      }
  }

  #known(): ReadonlySet<string> {
    return new Set([...this.#hooks.known(), ...this.#unreadable.skipped.map(markOf)])
  }

  /** A person may have acknowledged an entry that cannot be read, or another consumer may have it. */
  async #forgetOthers(): Promise<void> {
    for (const place of this.#unreadable.skipped) {
      const found = await this.#pending(place.side, [place.id, place.id, '1'])
      if (found.length === 0) this.#unreadable.forget(place)
    }
  }

  /** The ids of a range that are assigned to this consumer. */
  async #pending(side: EntryPlace['side'], range: readonly string[]): Promise<readonly EntryPlace[]> {
    const { connection, keys } = this.#context
    const key = keys[side]
    const words = ['XPENDING', key, keys.handler, ...range, this.#hooks.consumer.name]
    const found = listOf(await connection.send('looking for events', words, { key, idempotent: true }))
    return found.map(each => ({ side, id: textOf(listOf(each)[0]) }))
  }

  /** Somebody has deleted the entry. One that is open here is known, and can still be put back whole. */
  async #finish({ side, id }: EntryPlace): Promise<void> {
    const { connection, keys } = this.#context
    const { events, own, notes, handler } = keys
    await run(connection, FINISH, [events, own, notes], [handler, side, id], { idempotent: true })
  }
}
