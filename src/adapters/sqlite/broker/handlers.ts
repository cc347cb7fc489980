import type { Database } from '../connection/database.ts'
import type { Cached } from '../connection/writer-context.ts'

export interface Handler {
  readonly id: number
  readonly channel: string
  /** Null for the backlog: the events from before the first handler of the channel. That handler takes them over. */
  readonly name: string | null
  readonly isByKey: boolean
  /** Replays wait for it, and it has never subscribed: it gets nothing else of the channel. */
  readonly isAwaited: boolean
  /** The number of events that are neither done nor dead. */
  depth: number
  isChanged: boolean
}

type HandlerRow = Pick<Handler, 'id' | 'name' | 'depth'> & { readonly by_key: number }

/** The value of `by_key` while a handler is only waited for. */
const AWAITED = -1

/** The handlers of each channel. */
export class HandlerTable implements Cached {
  readonly #db: Database
  readonly #byChannel = new Map<string, Handler[]>()
  readonly #byId = new Map<number, Handler>()

  constructor(db: Database) {
    this.#db = db
  }

  /** At least one: without any handler there is the backlog. */
  ofChannel(channel: string): readonly Handler[] {
    const known = this.known(channel)
    if (known.length > 0 && known.every(({ isAwaited }) => !isAwaited)) return known
    const subscribed = known.filter(({ isAwaited }) => !isAwaited)
    return subscribed.length > 0 ? subscribed : [this.#add(channel, null, 0)]
  }

  /** The one handler that a replay is for. It may be unknown here: then the replay waits until it subscribes. */
  named(channel: string, name: string): Handler {
    return this.#find(channel, name) ?? this.#add(channel, name, AWAITED)
  }

  known(channel: string): readonly Handler[] {
    return this.#byChannel.get(channel) ?? this.#reload(channel)
  }

  byId(id: number): Handler {
    const known = this.#byId.get(id)
    if (known !== undefined) return known
    this.#reload(this.#db.get<{ channel: string }>`select channel from handlers where id = ${id}`!.channel)
    return this.#byId.get(id)!
  }

  /** The handler, made if it is new, and whether it has just taken over what waited for it. */
  enter(channel: string, name: string, isByKey: boolean): { handler: Handler; tookOver: boolean } {
    const known = this.#find(channel, name)
    if (known?.isAwaited === false) return { handler: known, tookOver: false }
    const backlog = this.#find(channel, null)
    if (known !== undefined && backlog !== undefined) this.#merge(backlog, known)
    const row = known ?? backlog
    if (row === undefined) return { handler: this.#add(channel, name, Number(isByKey)), tookOver: false }
    this.flush()
    this.#db.run`update handlers set name = ${name}, by_key = ${Number(isByKey)} where id = ${row.id}`
    this.#reload(channel)
    return { handler: this.#find(channel, name)!, tookOver: true }
  }

  count(handler: Handler, change: 1 | -1): void {
    handler.depth += change
    handler.isChanged = true
  }

  flush(): void {
    for (const handler of this.#byId.values()) {
      const { id, depth, isChanged } = handler
      if (isChanged) this.#db.run`update handlers set depth = ${depth} where id = ${id}`
      handler.isChanged = false
    }
  }

  forget(): void {
    this.#byChannel.clear()
    this.#byId.clear()
  }

  #find(channel: string, name: string | null): Handler | undefined {
    return this.known(channel).find(handler => handler.name === name)
  }

  #add(channel: string, name: string | null, byKey: number): Handler {
    this.flush()
    this.#db.run`insert into handlers(channel, name, by_key, depth) values(${channel}, ${name}, ${byKey}, 0)`
    this.#reload(channel)
    return this.#find(channel, name)!
  }

  /** Neither has open deliveries, so all of their events are ready. */
  #merge(backlog: Handler, awaited: Handler): void {
    this.#db.run`update ready set handler = ${awaited.id} where handler = ${backlog.id}`
    this.#db.run`delete from handlers where id = ${backlog.id}`
    this.#byId.delete(backlog.id)
    awaited.depth += backlog.depth
    awaited.isChanged = true
  }

  #reload(channel: string): Handler[] {
    const rows = this.#db.all<HandlerRow>`select * from handlers where channel = ${channel} order by id`
    const handlers = rows.map(({ id, name, by_key, depth }) => ({
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
