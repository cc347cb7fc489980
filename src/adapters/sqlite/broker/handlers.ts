import type { DatabaseSync } from 'node:sqlite'
import type { Part } from '../connection/part.ts'
import { all } from '../connection/rows.ts'

export interface Handler {
  readonly id: number
  readonly channel: string
  /** Null for the backlog: what was published before any handler of the channel. The first handler takes it over. */
  readonly name: string | null
  readonly isByKey: boolean
  /** Replays wait for it, and it has never subscribed: it gets nothing else of the channel. */
  readonly isAwaited: boolean
  /** Events that are neither done nor dead. */
  depth: number
  isChanged: boolean
}

/** The value of `by_key` while a handler is only waited for. */
const AWAITED = -1

/** Who gets the events of a channel. */
export class Roster implements Part {
  readonly #byChannel = new Map<string, Handler[]>()
  readonly #byId = new Map<number, Handler>()
  readonly #find
  readonly #findById
  readonly #insert
  readonly #name
  readonly #setDepth
  readonly #adopt
  readonly #remove

  constructor(db: DatabaseSync) {
    this.#find = db.prepare('select * from handlers where channel = ? order by id')
    this.#findById = db.prepare('select channel from handlers where id = ?')
    this.#insert = db.prepare('insert into handlers(channel, name, by_key, depth) values(?, ?, ?, 0)')
    this.#name = db.prepare('update handlers set name = ?, by_key = ? where id = ?')
    this.#setDepth = db.prepare('update handlers set depth = ? where id = ?')
    this.#adopt = db.prepare('update ready set handler = ? where handler = ?')
    this.#remove = db.prepare('delete from handlers where id = ?')
  }

  /** At least one: without any handler there is the backlog. */
  ofChannel(channel: string): readonly Handler[] {
    const known = this.known(channel)
    if (known.length > 0 && known.every(({ isAwaited }) => !isAwaited)) return known
    const subscribed = known.filter(({ isAwaited }) => !isAwaited)
    if (subscribed.length > 0) return subscribed
    this.flush()
    this.#insert.run(channel, null, 0)
    return this.#reload(channel).filter(({ isAwaited }) => !isAwaited)
  }

  /** The one handler that a replay is for. It may be unknown here: then the replay waits until it subscribes. */
  named(channel: string, name: string): Handler {
    const known = this.known(channel).find(handler => handler.name === name)
    if (known !== undefined) return known
    this.flush()
    this.#insert.run(channel, name, AWAITED)
    return this.#reload(channel).find(handler => handler.name === name)!
  }

  known(channel: string): readonly Handler[] {
    return this.#byChannel.get(channel) ?? this.#reload(channel)
  }

  byId(id: number): Handler {
    const known = this.#byId.get(id)
    if (known !== undefined) return known
    this.#reload((this.#findById.get(id) as { channel: string }).channel)
    return this.#byId.get(id)!
  }

  /** The handler, made if it is new, and whether it has just taken over what waited for it. */
  enter(channel: string, name: string, isByKey: boolean): { handler: Handler; tookOver: boolean } {
    const handlers = this.known(channel)
    const known = handlers.find(handler => handler.name === name)
    if (known?.isAwaited === false) return { handler: known, tookOver: false }
    const backlog = handlers.find(handler => handler.name === null)
    if (known !== undefined && backlog !== undefined) this.#merge(backlog, known)
    this.flush()
    const row = known ?? backlog
    if (row === undefined) this.#insert.run(channel, name, Number(isByKey))
    else this.#name.run(name, Number(isByKey), row.id)
    const handler = this.#reload(channel).find(each => each.name === name)!
    return { handler, tookOver: row !== undefined }
  }

  count(handler: Handler, change: 1 | -1): void {
    handler.depth += change
    handler.isChanged = true
  }

  flush(): void {
    for (const handler of this.#byId.values()) {
      if (handler.isChanged) this.#setDepth.run(handler.depth, handler.id)
      handler.isChanged = false
    }
  }

  forget(): void {
    this.#byChannel.clear()
    this.#byId.clear()
  }

  /** Nobody has opened anything of either: all that they have is ready. */
  #merge(backlog: Handler, awaited: Handler): void {
    this.#adopt.run(awaited.id, backlog.id)
    this.#remove.run(backlog.id)
    this.#byId.delete(backlog.id)
    awaited.depth += backlog.depth
    awaited.isChanged = true
  }

  #reload(channel: string): Handler[] {
    const handlers = all<HandlerRow>(this.#find, channel).map(({ id, name, by_key, depth }) => ({
      id,
      channel,
      name,
      isByKey: by_key === 1,
      isAwaited: by_key === AWAITED,
      depth,
      isChanged: false,
    }))
    for (const handler of handlers) this.#byId.set(handler.id, handler)
    if (handlers.length > 0) this.#byChannel.set(channel, handlers)
    return handlers
  }
}

interface HandlerRow {
  readonly id: number
  readonly name: string | null
  readonly by_key: number
  readonly depth: number
}
