import type { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { delay } from '../../../ports/clock.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { listOf, textOf } from '../connection/replies.ts'
import { run } from '../connection/script.ts'
import { RedisError } from '../errors.ts'
import type { HandlerContext } from './context.ts'
import { type DeletedEntry, type Entry, readEntries } from './entry.ts'
import type { GroupConsumer } from './group-consumer.ts'
import type { Side } from './keys.ts'
import { nextBackoff } from './retry-until-done.ts'
import { FINISH } from './scripts/settling.ts'

/** The number of entries of each stream in one read. More would only wait in memory. */
const MAX_READ = 1_000

interface StreamReaderHooks {
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
 * Reads on its own connection, where it can wait for entries. If the answer of a read is lost, the server may have
 * assigned entries that this consumer does not know. So after any failure it reads all entries with its name. A server
 * that has not noticed the lost connection may add more later; `findForgotten` finds those.
 */
export class StreamReader {
  readonly #context: HandlerContext
  readonly #connection: RedisConnection
  readonly #hooks: StreamReaderHooks
  #mode: 'idle' | 'reading' | 'stopped' = 'idle'
  /** Whether there may be entries in this consumer's name that it does not know. */
  #mustRecover = false
  /** Reads in a row that have failed. */
  #failures = 0
  #wake: (() => void) | undefined
  #running: Promise<void> | undefined

  constructor(context: HandlerContext, hooks: StreamReaderHooks) {
    this.#context = context
    this.#connection = context.connection.another('reading')
    this.#hooks = hooks
  }

  resume(): void {
    if (this.#mode === 'stopped') return
    this.#mode = 'reading'
    this.#running ??= this.#run()
    this.wake()
  }

  /** A running read continues: the receiver of its entries must keep them. */
  pause(): void {
    if (this.#mode === 'reading') this.#mode = 'idle'
  }

  /** Looks again whether there is room. */
  wake(): void {
    this.#wake?.()
  }

  async stop(): Promise<void> {
    this.#mode = 'stopped'
    this.wake()
    await this.#connection.close()
    await this.#running
  }

  /** Finds entries that have been assigned to this consumer for a while, and whose answer was lost. */
  async findForgotten(): Promise<void> {
    const { connection, keys, settings } = this.#context
    for (const side of ['own', 'events'] as const) {
      const known = this.#hooks.known()
      const key = keys[side]
      const idle = ['IDLE', String(Math.ceil(settings.leaseMs / 3))]
      // The limit is one more than the known entries. If the server returns that many, one of them is unknown.
      const range = ['-', '+', String(known.size + 1), this.#hooks.consumer.name]
      const words = ['XPENDING', key, keys.handler, ...idle, ...range]
      const found = listOf(await connection.send('looking for events', words, { key, idempotent: true }))
      if (found.some(each => !known.has(`${side} ${textOf(listOf(each)[0])}`))) this.#mustRecover = true
    }
  }

  async #run(): Promise<void> {
    for (let backoffMs = 0; this.#mode !== 'stopped'; ) {
      if (this.#mode === 'idle' || this.#hooks.room() <= 0) {
        await new Promise<void>(resolve => (this.#wake = resolve))
        continue
      }
      try {
        if (backoffMs > 0) await delay(this.#context.settings.clock, backoffMs)
        if (this.#mustRecover) await this.#recover()
        else await this.#read()
        backoffMs = 0
        this.#failures = 0
        this.#hooks.stalls.recovered('deliveries')
      } catch (error) {
        if (this.#isStopped()) return
        backoffMs = nextBackoff(backoffMs)
        if (++this.#failures > 1) this.#hooks.stalls.stalled('deliveries', this, error as Error)
        await this.#failed(error)
      }
    }
  }

  async #read(): Promise<void> {
    const { consumer, room, receive, giveBack } = this.#hooks
    const blockMs = this.#context.settings.maxPollMs
    const { name } = consumer
    const count = String(Math.min(MAX_READ, room()))
    const { entries } = await this.#ask(name, ['COUNT', count, 'BLOCK', String(blockMs)], ['>', '>'], blockMs)
    if (entries.length > 0) await (name === consumer.name ? receive : giveBack)(entries)
  }

  /** Reads all that is in this consumer's name, page by page. */
  async #recover(): Promise<void> {
    const { consumer, known: readKnown, receive } = this.#hooks
    for (let after: readonly [own: string, events: string] = ['0', '0']; ; ) {
      // The known entries are read before the call, because some may be settled when the answer comes.
      const known = readKnown()
      const { entries, deleted } = await this.#ask(consumer.name, ['COUNT', String(MAX_READ)], after)
      const isUnknown = ({ side, id }: DeletedEntry) => !known.has(`${side} ${id}`)
      // A deleted entry that is open here is not lost: it can still be put back whole.
      const lost = deleted.filter(isUnknown)
      if (lost.length > 0) await this.#finish(lost)
      const unknown = entries.filter(isUnknown)
      if (unknown.length > 0) await receive(unknown)
      const all = [...entries, ...deleted]
      if (all.length === 0) break
      after = [lastOf(all, 'own') ?? after[0], lastOf(all, 'events') ?? after[1]]
    }
    this.#mustRecover = false
  }

  async #ask(
    name: string,
    words: readonly string[],
    after: readonly [own: string, events: string],
    blockMs?: number,
  ) {
    const { keys } = this.#context
    const { own, events, handler } = keys
    const command = ['XREADGROUP', 'GROUP', handler, name, ...words, 'STREAMS', own, events, ...after]
    return readEntries(await this.#connection.send('reading events', command, { key: events, blockMs }), keys)
  }

  async #finish(deleted: readonly DeletedEntry[]): Promise<void> {
    const { connection, keys } = this.#context
    const { events, own, notes, handler } = keys
    const marks = deleted.flatMap(({ side, id }) => [side, id])
    await run(connection, FINISH, [events, own, notes], [handler, ...marks], { idempotent: true })
  }

  async #failed(error: unknown): Promise<void> {
    const { onError } = this.#context.settings
    this.#mustRecover = true
    onError(error)
    const isGroupGone = error instanceof RedisError && error.reply === 'NOGROUP'
    if (isGroupGone) await this.#hooks.consumer.enter().catch(onError)
  }

  #isStopped(): boolean {
    return this.#mode === 'stopped'
  }
}

function lastOf(entries: readonly DeletedEntry[], side: Side): string | undefined {
  return entries.findLast(entry => entry.side === side)?.id
}
