import type { Dispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import { inOwnContext, isOwnContext } from '../../runtime/dispatcher/track/own-context.ts'
import { type LineOptions, trackInputOf, unparsed } from './line.ts'
import { isText, Lines } from './lines.ts'
import { type PinoEventsOptions, resolveLine } from './options.ts'

/** What is needed of a dispatcher to make events of lines. */
export type Tracker = Pick<Dispatcher, 'track' | 'flush'>

/** In a logger the caller is never told, and nothing waits for a sink. */
const TRACK = { wait: 'accepted', onFailure: 'swallow' } as const

/**
 * A destination for pino in this process: `pino(pinoEvents(events))`, or one of several in `pino.multistream`. It only
 * passes lines to the dispatcher, whose buffers are bounded. Closing the dispatcher flushes them.
 */
export function pinoEvents(tracker: Tracker, options: PinoEventsOptions = {}): PinoEvents {
  return new PinoEvents(tracker, resolveLine('pinoEvents', options))
}

/** A stream for pino that tracks log lines as events. */
export class PinoEvents {
  readonly #tracker: Tracker
  readonly #options: LineOptions
  readonly #lines = new Lines()
  #skipped = 0

  constructor(tracker: Tracker, options: LineOptions) {
    this.#tracker = tracker
    this.#options = options
  }

  /** Lines that a dispatcher has logged about its own work. They do not become events: that would never end. */
  get skipped(): number {
    return this.#skipped
  }

  write(piece: string): void {
    this.take(piece).catch(() => {})
  }

  /** Resolves when what has been written so far has an outcome; `pino.flush` calls it. */
  flush(done: (error?: Error) => void = () => {}): void {
    this.settle().then(
      () => done(),
      (error: Error) => done(error),
    )
  }

  /** Resolves when the dispatcher has taken the lines. */
  async take(piece: string): Promise<void> {
    const lines = this.#lines.add(piece)
    if (!isOwnContext()) await Promise.all(lines.map(line => this.#track(line)))
    else this.#skipped += lines.length
  }

  async settle(): Promise<void> {
    const rest = this.#lines.end()
    if (isText(rest)) await this.#track(rest)
    await this.#tracker.flush()
  }

  /** In the dispatcher's own context: what its observers log while it tracks a line is about that line. */
  #track(text: string): Promise<void> {
    return inOwnContext(async () => {
      const { event } = await this.#tracker.track(trackInputOf(text, this.#options), TRACK)
      // Too large, too deep: no event can be made of it, but of the fact that there was such a line.
      if (event === undefined) await this.#tracker.track(unparsed(text, this.#options), TRACK)
    })
  }
}
