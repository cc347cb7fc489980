import { Gathering } from '../../../adapter-kit/gathering.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { run } from '../connection/script.ts'
import type { HandlerPlaces, Side } from './keys.ts'
import type { RedisStreamsSettings } from './options.ts'
import { type Past, writePast } from './past.ts'
import { persist } from './persistence.ts'
import { RETURN } from './scripts/returning.ts'

const MOST_AT_ONCE = 200
/** A wait beyond this is as good as for ever. */
const LONGEST_DELAY_MS = 100 * 365 * 86_400_000

/** An entry that shall come again. */
interface Returned {
  readonly side: Side
  readonly id: string
  readonly past: Past
  readonly delayMs: number
  /** The event as it is written, should its entry be gone. */
  text(): string
}

/** Puts entries back, many in one step. */
export class Returns {
  readonly #on: RedisConnection
  readonly #places: HandlerPlaces
  readonly #settings: RedisStreamsSettings
  readonly #isPointless: () => boolean
  readonly #gathering: Gathering<Returned, boolean>

  constructor(
    on: RedisConnection,
    places: HandlerPlaces,
    settings: RedisStreamsSettings,
    isPointless: () => boolean,
  ) {
    this.#on = on
    this.#places = places
    this.#settings = settings
    this.#isPointless = isPointless
    this.#gathering = new Gathering(MOST_AT_ONCE, items => this.#flush(items))
  }

  /** False when it was not open any more. */
  add(returned: Returned): Promise<boolean> {
    return this.#gathering.add(returned)
  }

  async #flush(items: readonly Returned[]): Promise<boolean[]> {
    const outcomes = new Map<Returned, boolean>()
    // Deleted by somebody while they were open, they are only here any more.
    const absent = new Set<Returned>()
    for (let left = items; left.length > 0; left = [...absent].filter(item => !outcomes.has(item))) {
      const answer = await persist(this.#settings, this.#isPointless, async isRepeated => ({
        isRepeated,
        found: await this.#send(left, absent),
      }))
      for (const [index, item] of left.entries()) {
        const found = answer?.found[index] ?? 'lost'
        if (found === 'absent' && !absent.has(item)) absent.add(item)
        // Whoever asks again may have been heard the first time.
        else outcomes.set(item, found === 'done' || answer?.isRepeated === true)
      }
    }
    return items.map(item => outcomes.get(item) ?? false)
  }

  #send(items: readonly Returned[], absent: ReadonlySet<Returned>) {
    const { events, own, waiting, notes, handler } = this.#places
    const args = items.flatMap(item => [
      item.side,
      item.id,
      // What is no number is no delay either: the script would fail with the entry in its hands.
      String(item.delayMs > 0 ? Math.min(LONGEST_DELAY_MS, Math.ceil(item.delayMs)) : 0),
      writePast(item.past, this.#settings.codec.events.texts),
      absent.has(item) ? item.text() : '',
    ])
    return run(this.#on, RETURN, [events, own, waiting, notes], [handler, ...args])
  }
}
