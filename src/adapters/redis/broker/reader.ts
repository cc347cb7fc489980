import { rest } from '../../../ports/clock.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { RedisError } from '../errors.ts'
import { type Entry, type Hole, readEntries } from './entry.ts'
import type { HandlerPlaces } from './keys.ts'
import type { RedisStreamsSettings } from './options.ts'

/** Of each stream in one read: more would only wait in memory. */
const MOST_READ = 1_000
const LONGEST_REST_MS = 1_000
const FIRST_REST_MS = 50

interface ReaderHooks {
  /** The name it reads under. */
  consumer(): string
  /** How many more can be handed over. */
  room(): number
  /** Of those that are in its name, which it knows of: `events 1-1`. */
  known(): ReadonlySet<string>
  receive(entries: readonly Entry[]): Promise<void>
  /** Read under a name that was lost meanwhile. */
  giveBack(entries: readonly Entry[]): Promise<void>
  /** Deleted by somebody while they were pending. */
  bury(holes: readonly Hole[]): Promise<void>
  /** The group is not there any more. */
  enter(): Promise<void>
  /** Nothing can be read, for the second time in a row; and it can again. */
  stalled(error: Error): void
  recovered(): void
}

/**
 * Reads on a connection of its own, where it can wait for what comes. A read whose answer is lost may have put entries in
 * this consumer's name that it does not know of; so after any trouble it looks through all that is in its name. It may do so
 * later still, where the server has not noticed that the connection is gone; so it looks again when it is told to doubt.
 */
export class Reader {
  readonly #on: RedisConnection
  readonly #places: HandlerPlaces
  readonly #settings: RedisStreamsSettings
  readonly #hooks: ReaderHooks
  #mode: 'idle' | 'reading' | 'stopped' = 'idle'
  #isSure = true
  /** Reads in a row that have failed. */
  #failures = 0
  #wake: (() => void) | undefined
  #running: Promise<void> | undefined

  constructor(
    on: RedisConnection,
    places: HandlerPlaces,
    settings: RedisStreamsSettings,
    hooks: ReaderHooks,
  ) {
    this.#on = on
    this.#places = places
    this.#settings = settings
    this.#hooks = hooks
  }

  resume(): void {
    if (this.#mode === 'stopped') return
    this.#mode = 'reading'
    this.#running ??= this.#run()
    this.wake()
  }

  /** A read that is under way goes on: what it brings has to be kept by whoever receives it. */
  pause(): void {
    if (this.#mode === 'reading') this.#mode = 'idle'
  }

  /** There may be room. */
  wake(): void {
    this.#wake?.()
  }

  /** Something may be in its name that it does not know of. */
  doubt(): void {
    this.#isSure = false
  }

  async stop(): Promise<void> {
    this.#mode = 'stopped'
    this.wake()
    await this.#on.close()
    await this.#running
  }

  async #run(): Promise<void> {
    for (let restMs = 0; this.#mode !== 'stopped'; ) {
      if (this.#mode === 'idle' || this.#hooks.room() <= 0) {
        await new Promise<void>(resolve => (this.#wake = resolve))
        continue
      }
      try {
        if (restMs > 0) await rest(this.#settings.clock, restMs)
        if (!this.#isSure) await this.#lookThrough()
        else await this.#read()
        restMs = 0
        this.#failures = 0
        this.#hooks.recovered()
      } catch (error) {
        if (this.#isStopped()) return
        restMs = Math.min(LONGEST_REST_MS, Math.max(FIRST_REST_MS, restMs * 2))
        if (++this.#failures > 1) this.#hooks.stalled(error as Error)
        await this.#troubled(error)
      }
    }
  }

  async #read(): Promise<void> {
    const { handler } = this.#places
    const blockMs = this.#settings.maxPollMs
    const consumer = this.#hooks.consumer()
    const count = String(Math.min(MOST_READ, this.#hooks.room()))
    const words = ['XREADGROUP', 'GROUP', handler, consumer, 'COUNT', count, 'BLOCK', String(blockMs)]
    const { entries } = await this.#ask(words, ['>', '>'], blockMs)
    if (entries.length === 0) return
    if (consumer === this.#hooks.consumer()) await this.#hooks.receive(entries)
    else await this.#hooks.giveBack(entries)
  }

  /** All that is in its name, a page after the other. */
  async #lookThrough(): Promise<void> {
    const { handler } = this.#places
    const words = ['XREADGROUP', 'GROUP', handler, this.#hooks.consumer(), 'COUNT', String(MOST_READ)]
    let after: [own: string, events: string] = ['0', '0']
    for (;;) {
      // Before it is asked: what is settled by the time of the answer was known all the same.
      const known = this.#hooks.known()
      const { entries, holes } = await this.#ask(words, after)
      const isUnknown = ({ side, id }: Hole) => !known.has(`${side} ${id}`)
      // One that is open here is not lost: it can still be put back whole.
      const lost = holes.filter(isUnknown)
      if (lost.length > 0) await this.#hooks.bury(lost)
      const unknown = entries.filter(isUnknown)
      if (unknown.length > 0) await this.#hooks.receive(unknown)
      const all = [...entries, ...holes]
      if (all.length === 0) break
      after = [lastOf(all, 'own') ?? after[0], lastOf(all, 'events') ?? after[1]]
    }
    this.#isSure = true
  }

  async #ask(words: readonly string[], after: readonly [own: string, events: string], blockMs?: number) {
    const { own, events } = this.#places
    const command = [...words, 'STREAMS', own, events, ...after]
    return readEntries(await this.#on.send('reading events', command, { key: events, blockMs }), this.#places)
  }

  async #troubled(error: unknown): Promise<void> {
    this.#isSure = false
    const isGroupGone = error instanceof RedisError && error.reply === 'NOGROUP'
    this.#settings.onError(error)
    if (isGroupGone) await this.#hooks.enter().catch(this.#settings.onError)
  }

  #isStopped(): boolean {
    return this.#mode === 'stopped'
  }
}

function lastOf(entries: readonly Hole[], side: Entry['side']): string | undefined {
  return entries.findLast(entry => entry.side === side)?.id
}
