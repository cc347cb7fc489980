import { delay } from '../../../ports/clock.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { listOf } from '../connection/replies.ts'
import { RedisError } from '../errors.ts'
import type { HandlerContext } from './context.ts'
import { type Entry, type EntryPlace, readEntries } from './entry.ts'
import { EntryRecovery, type StreamReaderHooks } from './entry-recovery.ts'
import { nextBackoff } from './retry-until-done.ts'
import { isAnswerLost } from './unreadable-entries.ts'

/** The number of entries of each stream in one read. More would only wait in memory. */
const MAX_READ = 1_000

/**
 * Reads on its own connection, where it can wait for entries. If the answer of a read is lost, the server may have
 * assigned entries that this consumer does not know. So after any failure it reads all entries with its name. A server
 * that has not noticed the lost connection may add more later; `findForgotten` finds those.
 */
export class StreamReader {
  readonly #context: HandlerContext
  readonly #connection: RedisConnection
  readonly #hooks: StreamReaderHooks
  readonly #recovery: EntryRecovery
  #mode: 'idle' | 'reading' | 'stopped' = 'idle'
  /** The most entries of each stream in one read: fewer after an answer was lost, which may have been too large. */
  #most = MAX_READ
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
    this.#recovery = new EntryRecovery(context, hooks, place => this.#readOne(place))
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
    if (!(await this.#recovery.isNeeded())) return
    this.#mustRecover = true
    this.wake()
  }

  async #run(): Promise<void> {
    for (let backoffMs = 0; this.#mode !== 'stopped'; ) {
      const canRead = this.#mustRecover || this.#recovery.hasRoom
      if (this.#mode === 'idle' || this.#hooks.room() <= 0 || !canRead) {
        await new Promise<void>(resolve => (this.#wake = resolve))
        continue
      }
      try {
        if (backoffMs > 0) await delay(this.#context.settings.clock, backoffMs)
        if (this.#mustRecover) await this.#recover()
        else await this.#read()
        backoffMs = 0
        this.#failures = 0
        this.#hooks.stalls.ended('deliveries', this)
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
    const { name } = consumer
    const count = Math.min(this.#most, room())
    const entries = await this.#ask(name, count).catch(error => {
      if (isAnswerLost(error)) this.#most = Math.max(1, Math.floor(count / 4))
      throw error
    })
    if (entries.length === 0) return
    this.#most = Math.min(MAX_READ, this.#most + 1)
    await (name === consumer.name ? receive : giveBack)(entries)
  }

  async #recover(): Promise<void> {
    const { name } = this.#hooks.consumer
    await this.#recovery.run()
    if (name === this.#hooks.consumer.name) this.#mustRecover = false
  }

  async #ask(name: string, count: number): Promise<Entry[]> {
    const { keys, settings } = this.#context
    const { own, events, handler } = keys
    const blockMs = settings.maxPollMs
    const limits = ['COUNT', String(count), 'BLOCK', String(blockMs)]
    const command = ['XREADGROUP', 'GROUP', handler, name, ...limits, 'STREAMS', own, events, '>', '>']
    return readEntries(await this.#connection.send('reading events', command, { key: events, blockMs }), keys)
  }

  /** Undefined if the entry was deleted. */
  async #readOne({ side, id }: EntryPlace): Promise<readonly string[] | undefined> {
    const key = this.#context.keys[side]
    const [found] = listOf(await this.#connection.send('reading an event', ['XRANGE', key, id, id], { key }))
    return found === undefined ? undefined : (listOf(found)[1] as string[])
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
