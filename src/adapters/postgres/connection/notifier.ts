import type { Cancel, Clock } from '../../../ports/clock.ts'
import { NOTIFY_CHANNEL } from '../schema/functions.ts'
import { ask } from './ask.ts'
import type { PgPool } from './client.ts'

/** NOTIFY takes a lock that every commit with one waits for, so that a channel is told of no more often than this. */
const WINDOW_MS = 10

/**
 * Tells others of what is enqueued, and of a stream of it only now and then. The first of a while is told in the
 * transaction that enqueues it. What follows is told together when the while is over; whatever is committed only after
 * that is found by polling, which is quick while much is going on.
 */
export class Notices {
  readonly #pool: PgPool
  readonly #clock: Clock
  readonly #isOn: boolean
  /** Channels that were told of a moment ago, and whether there is something to add. */
  readonly #recent = new Map<string, { hasMore: boolean }>()
  #cancel: Cancel | undefined

  constructor(pool: PgPool, clock: Clock, isOn: boolean) {
    this.#pool = pool
    this.#clock = clock
    this.#isOn = isOn
  }

  /** Of these channels the ones to be told of at once; the others are told of in a moment. */
  of(channels: Iterable<string>): readonly string[] {
    if (!this.#isOn) return []
    const now: string[] = []
    for (const channel of channels) {
      const recent = this.#recent.get(channel)
      if (recent !== undefined) recent.hasMore = true
      else {
        this.#recent.set(channel, { hasMore: false })
        now.push(channel)
      }
    }
    if (now.length > 0) this.#cancel ??= this.#clock.schedule(WINDOW_MS, () => this.#close())
    return now
  }

  /** Without events: something can be claimed that could not before. */
  async tell(channel: string): Promise<void> {
    if (!this.#isOn) return
    await ask(this.#pool, 'telling others', `select pg_notify('${NOTIFY_CHANNEL}', $1)`, [channel])
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#recent.clear()
  }

  #close(): void {
    this.#cancel = undefined
    const more = [...this.#recent].filter(([, { hasMore }]) => hasMore).map(([channel]) => channel)
    this.#recent.clear()
    // A notice that cannot be sent is made up for by polling.
    for (const channel of this.of(more)) this.tell(channel).catch(() => {})
  }
}
